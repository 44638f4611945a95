insert into refusal(day, cluster, reason, count, last) values ($1, $2, $3, $4, $5)
on conflict (day, cluster, reason) do update set
  count = refusal.count + excluded.count, last = case when excluded.last > refusal.last then excluded.last else refusal.last end
