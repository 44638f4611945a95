variable "cidr" {
  type        = string
  description = "the addresses of the network"
}

resource "terraform_data" "vpc" {
  input = var.cidr
}

resource "terraform_data" "subnet" {
  count = 2
  input = cidrsubnet(var.cidr, 3, count.index)
}

output "vpc_id" {
  value = terraform_data.vpc.id
}

output "subnets" {
  value = terraform_data.subnet[*].id
}
