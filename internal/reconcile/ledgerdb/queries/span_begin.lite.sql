insert into span(object, since, until, phase, revision, attempted, message, late, app)
values ($1, $2, nullif($3, 0), $4, nullif($5, 0), nullif($6, 0), nullif($7, 0), $8, nullif($9, 0))
on conflict (object, since) do update set
  until = excluded.until, phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, message = excluded.message, app = excluded.app,
  late = span.late or excluded.late
