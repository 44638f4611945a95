delete from object_uid where object = $1
