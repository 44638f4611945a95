variable "vpc_id" {
  type        = string
  description = "the network of the cluster"
}

variable "nodes" {
  type        = number
  description = "how many nodes it has"
}

resource "terraform_data" "node" {
  count = var.nodes
  input = var.vpc_id
}

output "endpoint" {
  value = "https://cluster.${var.vpc_id}.example.com"
}
