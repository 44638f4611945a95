-- What the arrivals of outputs were added up to: of an environment, from one to another, at the clusters of
-- all types.
select output.seq, arrival_day.clusters, arrival_day.ready, arrival_day.failed, coalesce(arrival_day.p50, -1), coalesce(arrival_day.p90, -1), coalesce(arrival_day.p95, -1), coalesce(arrival_day.slowest, -1),
  coalesce(arrival_day.first_failed, -1)
from environment
join output on output.environment = environment.id and output.seq between $2 and $3
join arrival_day on arrival_day.environment = environment.name and arrival_day.sha = output.sha and arrival_day.cluster_type = '*' and arrival_day.merged = output.merged
where environment.name = $1
