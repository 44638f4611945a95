delete from evidence where object = any($1::bigint[])
