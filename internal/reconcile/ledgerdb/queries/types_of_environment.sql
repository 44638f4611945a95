select id from cluster_type where environment = $1 order by id limit $2
