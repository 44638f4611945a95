delete from assignment where id = $1
