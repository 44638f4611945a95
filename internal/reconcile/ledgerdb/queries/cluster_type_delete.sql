delete from cluster_type where id = $1
