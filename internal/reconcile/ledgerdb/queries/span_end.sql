update span set until = $3 where object = $1 and since = $2
