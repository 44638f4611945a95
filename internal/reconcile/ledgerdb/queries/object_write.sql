insert into object(id, cluster, name) values ($1, $2, $3)
