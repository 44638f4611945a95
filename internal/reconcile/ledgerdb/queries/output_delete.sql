delete from output where id = $1
