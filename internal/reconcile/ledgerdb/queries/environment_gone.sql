update environment set gone = $2 where name = $1
