delete from environment where id = $1
