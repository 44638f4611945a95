update object set gone = $2 where id = $1
