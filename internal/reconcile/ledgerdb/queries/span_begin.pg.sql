insert into span(object, since, until, phase, revision, attempted, message, late, app)
select object, since, nullif(until, 0), phase, nullif(revision, 0), nullif(attempted, 0), nullif(message, 0), late <> 0, nullif(app, 0)
from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
  as given(object, since, until, phase, revision, attempted, message, late, app)
on conflict (object, since) do update set
  until = excluded.until, phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, message = excluded.message, app = excluded.app,
  late = span.late or excluded.late
