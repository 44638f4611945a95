select id from object where cluster = $1 and name = $2
