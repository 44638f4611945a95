select coalesce(ready, 0), coalesce(failed, 0) from arrival where output = $1
