insert into evidence(object, number, phase, target, runs, said, level, message) values ($1, $2, $3, $4, $5, $6, $7, $8)
