insert into phase_day(day, environment, cluster_type, object, phase, seconds, changes) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (day, environment, cluster_type, object, phase) do update set
  seconds = phase_day.seconds + excluded.seconds, changes = phase_day.changes + excluded.changes
