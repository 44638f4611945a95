select coalesce(max(id) + 1, $1) from object where id >= $1
