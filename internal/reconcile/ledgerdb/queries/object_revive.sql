update object set gone = null where id = $1 and gone is not null
