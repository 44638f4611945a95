insert into state(object, cluster, phase, revision, attempted, since, said, level, message) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (object) do update set
  phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, since = excluded.since, said = excluded.said,
  level = excluded.level, message = excluded.message
