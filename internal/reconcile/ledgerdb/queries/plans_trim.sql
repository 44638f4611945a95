delete from plan where cluster = $1 and namespace = $2 and object = $3 and id not in (
  select id from plan where cluster = $1 and namespace = $2 and object = $3 order by received desc limit $4)
