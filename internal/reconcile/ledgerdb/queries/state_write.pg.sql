insert into state(object, cluster, phase, revision, attempted, since, said, level, message, app)
select object, cluster, phase, nullif(revision, 0), nullif(attempted, 0), since, said, level <> 0, nullif(message, 0), nullif(app, 0)
from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
  as given(object, cluster, phase, revision, attempted, since, said, level, message, app)
on conflict (object) do update set
  phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, since = excluded.since, said = excluded.said,
  level = excluded.level, message = excluded.message, app = excluded.app
