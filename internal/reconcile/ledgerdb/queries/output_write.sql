insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
