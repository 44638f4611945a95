insert into state(object, cluster, phase, revision, attempted, since, said, level, message, app)
values ($1, $2, $3, nullif($4, 0), nullif($5, 0), $6, $7, $8, nullif($9, 0), nullif($10, 0))
on conflict (object) do update set
  phase = excluded.phase, revision = excluded.revision, attempted = excluded.attempted, since = excluded.since, said = excluded.said,
  level = excluded.level, message = excluded.message, app = excluded.app
