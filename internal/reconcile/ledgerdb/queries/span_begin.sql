insert into span(object, since, until, phase, revision, attempted, message, late) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (object, since) do update set
  until = excluded.until, phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, message = excluded.message,
  late = span.late or excluded.late
