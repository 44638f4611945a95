variable "subnet" {
  type        = string
  description = "the subnet of the database"
}

variable "size" {
  type        = string
  description = "small, medium or large"
}

resource "terraform_data" "database" {
  input = "${var.size} in ${var.subnet}"
}

output "address" {
  value = "database.${terraform_data.database.id}.example.com"
}
