select id from output where environment = $1 order by id limit $2
