delete from arrival where output = $1
