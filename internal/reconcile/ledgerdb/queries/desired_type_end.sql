update desired_type set to_seq = $2 where cluster_type = $1 and to_seq is null
