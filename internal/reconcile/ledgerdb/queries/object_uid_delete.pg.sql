delete from object_uid where object = any($1::bigint[])
