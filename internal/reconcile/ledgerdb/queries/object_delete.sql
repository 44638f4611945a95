delete from object where id = $1
