-- Of an output that was merged twice, because its branch was rewritten, there are two sums. How many
-- clusters had it, and after how many seconds the first one failed, is added up as well.
alter table arrival_day drop constraint arrival_day_pkey;
alter table arrival_day add primary key (environment, sha, cluster_type, merged);
alter table arrival_day add column clusters bigint not null default 0;
alter table arrival_day add column first_failed bigint;
update arrival_day set clusters = greatest(ready, failed);

create or replace view fleet_lead as
select environment.name as environment, output.sha as output, output.base, cluster_type.name as cluster_type,
  to_timestamp(output.authored) as authored, to_timestamp(output.merged) as merged,
  (select count(*) from cluster where cluster.environment = environment.name and cluster.cluster_type = cluster_type.name
    and exists (select 1 from object where object.cluster = cluster.id and object.gone is null)) as clusters,
  coalesce(summed.ready, arrived.ready) as ready, coalesce(summed.failed, arrived.failed) as failed,
  coalesce(summed.p50, arrived.p50) as p50_seconds, coalesce(summed.p90, arrived.p90) as p90_seconds,
  coalesce(summed.p95, arrived.p95) as p95_seconds, coalesce(summed.slowest, arrived.slowest) as slowest_seconds
from output
join environment on environment.id = output.environment
join cluster_type on cluster_type.environment = environment.id
join desired_type on desired_type.cluster_type = cluster_type.id and desired_type.from_seq = output.seq
left join arrival_day summed
  on summed.environment = environment.name and summed.sha = output.sha and summed.cluster_type = cluster_type.name and summed.merged = output.merged
cross join lateral (
  select count(arrival.ready) as ready, count(arrival.failed) as failed,
    percentile_disc(0.5) within group (order by measured.took) as p50,
    percentile_disc(0.9) within group (order by measured.took) as p90,
    percentile_disc(0.95) within group (order by measured.took) as p95,
    max(measured.took) as slowest
  from arrival
  join cluster on cluster.id = arrival.cluster and cluster.environment = environment.name and cluster.cluster_type = cluster_type.name
  cross join lateral (select case when cluster.first_seen <= output.merged then arrival.ready - output.merged end as took) measured
  where arrival.output = output.id
) arrived;
