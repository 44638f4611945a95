delete from evidence where object = $1
