update span set until = nullif($3, 0) where object = $1 and since = $2
