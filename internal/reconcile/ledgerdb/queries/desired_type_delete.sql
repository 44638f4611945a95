delete from desired_type where cluster_type = $1
