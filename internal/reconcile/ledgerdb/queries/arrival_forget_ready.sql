update arrival set ready = null where cluster = $1 and ready >= $2
