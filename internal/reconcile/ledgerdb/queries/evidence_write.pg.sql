insert into evidence(object, number, phase, target, runs, said, level, message)
select object, number, phase, nullif(target, 0), nullif(runs, 0), said, level <> 0, nullif(message, 0)
from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
  as given(object, number, phase, target, runs, said, level, message)
