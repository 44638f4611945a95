variable "size" {
  type = string
}

resource "terraform_data" "queue" {
  input = var.size
}

output "address" {
  value = terraform_data.queue.id
}
