select id from cluster where first_name = $1
