insert into span(object, since, until, phase, revision, attempted, message, late)
values ($1, $2, nullif($3, 0), $4, nullif($5, 0), nullif($6, 0), nullif($7, 0), $8)
on conflict (object, since) do update set
  until = excluded.until, phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, message = excluded.message,
  late = span.late or excluded.late
