-- What is left of arrivals that are no longer kept: how long an output took to the clusters of a type. By
-- its commit, as the ids of outputs are others when they were read again from Git.
create table arrival_day(
  environment text not null,
  sha text not null,
  cluster_type text not null,      -- * for all of them together
  merged bigint not null,
  ready bigint not null,              -- how many clusters were ready with it
  failed bigint not null,             -- how many failed at first
  p50 bigint,                         -- seconds from the merge; null if none was ready
  p90 bigint,
  p95 bigint,
  slowest bigint,
  primary key(environment, sha, cluster_type)
);
create index arrival_day_by_merged on arrival_day(merged);

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
  on summed.environment = environment.name and summed.sha = output.sha and summed.cluster_type = cluster_type.name
cross join lateral (
  select count(arrival.ready) as ready, count(arrival.failed) as failed,
    percentile_disc(0.5) within group (order by arrival.ready - output.merged) as p50,
    percentile_disc(0.9) within group (order by arrival.ready - output.merged) as p90,
    percentile_disc(0.95) within group (order by arrival.ready - output.merged) as p95,
    max(arrival.ready - output.merged) as slowest
  from arrival
  join cluster on cluster.id = arrival.cluster and cluster.environment = environment.name and cluster.cluster_type = cluster_type.name
  where arrival.output = output.id
) arrived;
