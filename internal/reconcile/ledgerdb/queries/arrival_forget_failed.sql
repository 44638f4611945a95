update arrival set failed = null where cluster = $1 and failed >= $2
