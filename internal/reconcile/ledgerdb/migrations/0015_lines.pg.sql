-- Which line of the branch an output is not in any more, as the branch was rewritten; null while it is in it.
alter table output add column abandoned bigint;

-- What an output held that the branch has no longer is unknown, unless an output that is in it has had it.
-- How each expected cluster stands to the newest output of its environment. The words are those of the
-- metric fairlead_fleet_clusters. A cluster that was never in touch has no name. One that was retired is
-- silent, and has no objects any more.
create or replace view fleet_standing as
with known as (
  select cluster.id, cluster.environment, cluster.cluster_type, cluster.name as cluster, newest.output, newest.merged,
    case
      when cluster.rival <> '' and extract(epoch from now()) - cluster.rival_seen <= greatest(3 * cluster.every, 180) then 'contested'
      when cluster.unproven then 'unproven'
      when extract(epoch from now()) - cluster.last_seen > greatest(3 * cluster.every, 180) then 'silent'
      when reported.sha is null then 'unknown'
      when reported.abandoned is not null and has.folder is not null and not exists (
        select 1
        from desired_type since
        join output on output.environment = newest.id and output.abandoned is null
          and output.seq >= since.from_seq and (since.to_seq is null or output.seq < since.to_seq)
        where since.cluster_type = cluster_type.id and since.folder = has.folder
      ) then 'unknown'
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
    select output.seq, output.sha, output.abandoned from output where output.environment = newest.id and output.sha = at.sha order by output.seq desc limit 1
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

