insert into evidence(object, number, phase, target, runs, said, level, message)
values ($1, $2, $3, nullif($4, 0), nullif($5, 0), $6, $7, nullif($8, 0))
