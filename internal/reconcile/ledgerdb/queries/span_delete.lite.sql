delete from span where object = $1 and since = $2
