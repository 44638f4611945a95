delete from state where object = any($1::bigint[])
