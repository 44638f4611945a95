-- What dashboards read. The columns of these views stay as they are; those of the tables may change.
create function fleet_phase(phase smallint) returns text language sql immutable as
  'select (array[''progressing'', ''ready'', ''failed'', ''suspended'', ''unknown'', ''waiting'', ''drifted'', ''checking''])[phase]';

-- The reconciler.yaml that there should be: which object each deployment target has, and what it applies.
create view fleet_wanted as
select environment.name as environment, cluster_type.name as cluster_type, assignment.target, part.object, part.repo, part.ref, part.path, part.pinned
from environment
join cluster_type on cluster_type.environment = environment.id
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id and desired.to_seq is null
join part on part.file = desired.file;

-- What each object on a cluster does now.
create view fleet_now as
select cluster.environment, cluster.cluster_type, cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(state.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(state.since) as since, to_timestamp(cluster.last_seen) as last_seen
from state
join object on object.id = state.object
join cluster on cluster.id = state.cluster
left join fleet_wanted wanted
  on wanted.environment = cluster.environment and wanted.cluster_type = cluster.cluster_type and wanted.object = object.name
left join revision runs on runs.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join message on message.id = state.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;

-- What each object did since a time, and until another one, which is null while it lasts. The name is the
-- one that the cluster has now.
create view fleet_history as
select cluster.environment, cluster.cluster_type, cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(span.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(span.since) as since, to_timestamp(span.until) as until
from span
join object on object.id = span.object
join cluster on cluster.id = object.cluster
left join fleet_wanted wanted
  on wanted.environment = cluster.environment and wanted.cluster_type = cluster.cluster_type and wanted.object = object.name
left join revision runs on runs.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join message on message.id = span.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;

-- The newest output of each environment.
create view fleet_outputs as
select distinct on (output.environment) environment.name as environment, output.environment as id, output.seq, output.sha as output,
  to_timestamp(output.merged) as merged
from output
join environment on environment.id = output.environment
order by output.environment, output.seq desc;

-- How each expected cluster stands to the newest output of its environment. The words are those of the
-- metric fairlead_fleet_clusters. A cluster that was never in touch has no name. One that was retired is
-- silent, and has no objects any more.
create view fleet_standing as
with known as (
  select cluster.id, cluster.environment, cluster.cluster_type, cluster.name as cluster, newest.output, newest.merged,
    case
      when cluster.rival <> '' and extract(epoch from now()) - cluster.rival_seen <= greatest(3 * cluster.every, 180) then 'contested'
      when cluster.unproven then 'unproven'
      when extract(epoch from now()) - cluster.last_seen > greatest(3 * cluster.every, 180) then 'silent'
      when reported.sha is null then 'unknown'
      when coalesce(has.folder, reported.sha) <> coalesce(wanted.folder, newest.output) then 'behind'
      when state.phase in (3, 7) then 'failed'
      when state.phase = 2 then 'ready'
      else 'progressing'
    end as standing,
    fleet_phase(state.phase) as phase, at.text as revision, message.text as message, to_timestamp(state.since) as since, to_timestamp(cluster.last_seen) as last_seen
  from cluster
  left join fleet_outputs newest on newest.environment = cluster.environment
  left join cluster_type on cluster_type.environment = newest.id and cluster_type.name = cluster.cluster_type
  left join object on object.cluster = cluster.id and object.name = cluster.platform
  left join state on state.object = object.id
  left join revision at on at.id = coalesce(state.attempted, state.revision)
  left join message on message.id = state.message
  left join lateral (
    select output.seq, output.sha from output where output.environment = newest.id and output.sha = at.sha order by output.seq desc limit 1
  ) reported on true
  left join desired_type has
    on has.cluster_type = cluster_type.id and has.from_seq <= reported.seq and (has.to_seq is null or has.to_seq > reported.seq)
  left join desired_type wanted on wanted.cluster_type = cluster_type.id and wanted.to_seq is null
  where cluster.environment <> ''
    and (state.object is not null or extract(epoch from now()) - cluster.last_seen <= greatest(3 * cluster.every, 180))
)
select environment, cluster_type, cluster, standing, phase, revision, message, since, last_seen, output, merged from known
union all
select newest.environment, cluster_type.name, null, 'unheard', null, null, null, null, null, newest.output, newest.merged
from fleet_outputs newest
join cluster_type on cluster_type.environment = newest.id
cross join lateral generate_series(
  1, cluster_type.expected - (select count(*) from known where known.environment = newest.environment and known.cluster_type = cluster_type.name));

-- When each cluster was first ready with what an output has brought to its type, and when it first failed.
create view fleet_arrivals as
select environment.name as environment, cluster.cluster_type, cluster.name as cluster, output.sha as output, to_timestamp(output.merged) as merged,
  to_timestamp(arrival.ready) as ready, to_timestamp(arrival.failed) as failed
from arrival
join output on output.id = arrival.output
join environment on environment.id = output.environment
join cluster on cluster.id = arrival.cluster;

-- How long each output took to the clusters of each type that it has changed, after it was merged.
create view fleet_lead as
select environment.name as environment, output.sha as output, output.base, cluster_type.name as cluster_type,
  to_timestamp(output.authored) as authored, to_timestamp(output.merged) as merged,
  (select count(*) from cluster where cluster.environment = environment.name and cluster.cluster_type = cluster_type.name
    and exists (select 1 from object where object.cluster = cluster.id and object.gone is null)) as clusters,
  arrived.ready, arrived.failed, arrived.p50_seconds, arrived.p90_seconds, arrived.p95_seconds, arrived.slowest_seconds
from output
join environment on environment.id = output.environment
join cluster_type on cluster_type.environment = environment.id
join desired_type on desired_type.cluster_type = cluster_type.id and desired_type.from_seq = output.seq
cross join lateral (
  select count(arrival.ready) as ready, count(arrival.failed) as failed,
    percentile_disc(0.5) within group (order by arrival.ready - output.merged) as p50_seconds,
    percentile_disc(0.9) within group (order by arrival.ready - output.merged) as p90_seconds,
    percentile_disc(0.95) within group (order by arrival.ready - output.merged) as p95_seconds,
    max(arrival.ready - output.merged) as slowest_seconds
  from arrival
  join cluster on cluster.id = arrival.cluster and cluster.environment = environment.name and cluster.cluster_type = cluster_type.name
  where arrival.output = output.id
) arrived;

-- Which versions of a deployment target run in each environment, and on how many clusters. With two
-- environments it shows what differs.
create view fleet_compare as
select environment, target, object, version, revision, count(*) as clusters, count(*) filter (where phase = 'ready') as ready,
  count(*) filter (where phase = 'failed') as failed, min(since) as since
from fleet_now
where target is not null
group by environment, target, object, version, revision;

-- What histories were added up to that are no longer kept: see ledger.keep of the settings.
create view fleet_days as
select date '1970-01-01' + phase_day.day::integer as day, environment, cluster_type, object, fleet_phase(phase) as phase, seconds, changes
from phase_day;

-- What was refused, by day.
create view fleet_refusals as
select date '1970-01-01' + day::integer as day, cluster, reason, count, to_timestamp(last) as last
from refusal;
