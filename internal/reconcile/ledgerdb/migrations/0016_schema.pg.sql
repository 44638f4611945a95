-- What clusters say. All times are Unix seconds. Phases are those of the package ledger. A message is that of a failure, or
-- the plan that waits: its id, and its kind if it destroys or is of drift.
create table cluster(
  id bigint primary key,
  first_name text not null unique, -- which its objects are filed under
  name text not null unique,       -- the one that it has now
  uid text not null,
  environment text not null,
  cluster_type text not null,
  platform text not null,          -- the object that pulls the environment's output
  unproven boolean not null,       -- until it has used a key of its own
  every bigint not null,           -- seconds
  first_seen bigint not null,
  last_seen bigint not null,
  rival text not null,
  rival_seen bigint not null,
  boot text not null,
  sequence bigint not null,
  sent bigint not null,
  agent_seen bigint not null,
  digest text not null,            -- of what is known of the objects; "" if an agent may know another state
  generation bigint not null,      -- of the last change
  rival_object text not null default '', -- whose uid the rival is; '' if it is a cluster's
  began bigint not null default 0, -- when the cluster before it was last in touch; 0 if there was none
  others text not null default ''  -- other objects that apply the output than the platform object, each on a line with its folder
) with (fillfactor = 70);
create index cluster_by_generation on cluster(generation);
-- By the generation a process finds what others have changed. They write one after the other, so that
-- no change appears behind a later one.
create sequence cluster_generation;
create function count_cluster_generation() returns trigger language plpgsql as
  'begin new.generation := nextval(''cluster_generation''); return new; end';
create trigger cluster_generation before insert or update on cluster for each row execute function count_cluster_generation();
create index cluster_by_type on cluster(environment, cluster_type);
create table cluster_name(
  cluster bigint not null,
  since bigint not null,
  until bigint,
  name text not null,
  primary key(cluster, since)
);
create index cluster_name_by_name on cluster_name(name, since);
-- Where clusters belonged before, and until when.
create table cluster_place(
  cluster bigint not null,
  until bigint not null,
  environment text not null,
  cluster_type text not null,
  primary key(cluster, until)
);
create table revision(
  id bigint primary key,
  text text not null unique,
  sha text not null                -- "" if it is no commit
);
create index revision_by_sha on revision(sha);
create table message(
  id bigint primary key,
  text text not null unique        -- one line
);
-- The ids of the objects of a cluster are neighbours.
create table object(
  id bigint primary key,
  cluster bigint not null,
  name text not null,              -- kind/namespace/name
  gone bigint,                     -- since when its cluster no longer has it
  unique(cluster, name)
);
create index object_by_name on object(name, cluster);
-- The uids of objects, in events.
create table object_uid(
  object bigint primary key,
  uid text not null,
  other text not null,             -- the one before, or another cluster's
  changed bigint not null,         -- when uid took its place
  contested boolean not null       -- whether another cluster has other
);
create table state(
  object bigint primary key,
  cluster bigint not null,
  phase smallint not null,
  revision bigint,
  attempted bigint,
  since bigint not null,
  said bigint not null,            -- by the clock of the cluster
  level boolean not null,
  message bigint,
  app bigint                       -- the version of the application in the chart that runs, among the revisions; null if none is known
) with (fillfactor = 70);
-- The reports that fold into a state which is not that of one report.
create table evidence(
  object bigint not null,
  number smallint not null,
  phase smallint not null,
  target bigint,
  runs bigint,
  said bigint not null,
  level boolean not null,
  message bigint,
  primary key(object, number)
);
create table span(
  object bigint not null,
  since bigint not null,
  until bigint,
  phase smallint not null,
  revision bigint,
  attempted bigint,
  message bigint,
  late boolean not null default false, -- whether it was told of afterwards: when it began, nothing was heard of its cluster
  app bigint,                      -- as in state
  primary key(object, since)
);
-- What clusters should run, as the output branches say. It can be read from Git again.
create table environment(
  id bigint primary key,
  name text not null unique,
  repo text not null,              -- where its output goes
  branch text not null,
  folder text not null,
  rank bigint not null default 0,  -- where it comes in the order of promotion
  gone bigint                      -- since when there is no such environment any more; null if there is
);
create table cluster_type(
  id bigint primary key,
  environment bigint not null,
  name text not null,              -- that of its folder
  expected bigint,                 -- how many clusters there should be; null if nothing says so
  unique(environment, name)
);
-- The commits of output branches.
create table output(
  id bigint primary key,
  environment bigint not null,
  seq bigint not null,             -- of the environment, in the order in which they were wanted
  line bigint not null,            -- another one each time that the branch was rewritten
  sha text not null,
  base text not null,              -- the commit of the base that it was rendered from; "" if it does not say
  plane text not null,             -- the same of the environment's branch of the control plane
  authored bigint,                 -- when the newest commit was made that it was rendered from; null if it does not say
  merged bigint not null,
  abandoned bigint,                -- which line of the branch it is not in any more, as the branch was rewritten; null while it is in it
  unique(environment, seq)
);
create index output_by_sha on output(sha, environment, seq);
create index output_by_merged on output(environment, merged);
-- The folders of cluster types: from one output on, and until before another one.
create table desired_type(
  cluster_type bigint not null,
  from_seq bigint not null,
  to_seq bigint,
  folder text not null,            -- the id of its tree
  primary key(cluster_type, from_seq)
);
create index desired_type_now on desired_type(cluster_type, folder) where to_seq is null;
create index desired_type_by_folder on desired_type(cluster_type, folder, from_seq);
-- A deployment target on a cluster type.
create table assignment(
  id bigint primary key,
  cluster_type bigint not null,
  target text not null,            -- the name of its folder
  unique(cluster_type, target)
);
create index assignment_by_target on assignment(target, cluster_type);
-- A reconciler.yaml, by the id of its blob.
create table reconciler_file(
  id bigint primary key,
  digest text not null unique
);
-- The objects in a reconciler.yaml that report of what they apply.
create table part(
  file bigint not null,
  object text not null,            -- kind/namespace/name, as in the table object
  repo text not null,              -- of Git, of charts or of artifacts
  ref text not null,               -- the branch, tag, range or digest that is asked for
  path text not null,              -- the folder; of a chart, its name
  pinned text,                     -- the only revision that ref can be; null if it may move
  primary key(file, object)
);
create index part_by_object on part(object, file);
-- The reconciler.yaml of assignments: from one output on, and until before another one.
create table desired(
  assignment bigint not null,
  from_seq bigint not null,
  to_seq bigint,
  file bigint not null,
  primary key(assignment, from_seq)
);
create index desired_now on desired(assignment) where to_seq is null;
-- What people call a commit of a workload's repository.
create table version(
  repo text not null,              -- of a part
  sha text not null,
  path text not null,              -- of a part
  version text not null,
  build text not null,             -- the number of its build; "" if nothing says it
  source_sha text not null,        -- the commit that it was built from; "" if nothing says it
  built bigint,                    -- when; null if nothing says it
  primary key(repo, sha, path)
);
-- When a cluster was first ready with what an output has brought to its type, and when it first failed.
create table arrival(
  output bigint not null,
  cluster bigint not null,
  ready bigint,
  failed bigint,
  primary key(output, cluster)
);
create index arrival_by_cluster on arrival(cluster, ready);
create index arrival_by_failure on arrival(cluster, failed) where failed is not null;
-- What is left of arrivals that are no longer kept: how long an output took to the clusters of a type. By
-- its commit, as the ids of outputs are others when they were read again from Git. Of an output that was
-- merged twice, because its branch was rewritten, there are two.
create table arrival_day(
  environment text not null,
  sha text not null,
  cluster_type text not null,      -- * for all of them together
  merged bigint not null,
  ready bigint not null,           -- how many clusters were ready with it
  failed bigint not null,          -- how many failed at first
  p50 bigint,                      -- seconds from the merge; null if none was ready
  p90 bigint,
  p95 bigint,
  slowest bigint,
  clusters bigint not null default 0, -- how many had it
  first_failed bigint,             -- after how many seconds the first one failed; null if none did
  primary key(environment, sha, cluster_type, merged)
);
create index arrival_day_by_merged on arrival_day(merged);
-- What is left of spans that are no longer kept, added up by days of UTC, which are numbers since 1970.
create table phase_day(
  day bigint not null,
  environment text not null,
  cluster_type text not null,
  object text not null,            -- kind/namespace/name, on whatever cluster
  phase smallint not null,
  seconds bigint not null,
  changes bigint not null,         -- how many spans began
  primary key(day, environment, cluster_type, object, phase)
);
create table refusal(
  day bigint not null,
  cluster text not null,           -- its name; "" for names that no cluster has
  reason text not null,
  count bigint not null,
  last bigint not null,
  primary key(day, cluster, reason)
);
-- Counts the transactions that add up and delete, so that nothing is added up twice.
create table retention(
  id bigint primary key check (id = 1),
  round bigint not null
);
insert into retention(id, round) values (1, 0);
-- By these it is found whether a message is still in use.
create index span_by_message on span(message) where message is not null;
create index state_by_message on state(message) where message is not null;
create index evidence_by_message on evidence(message) where message is not null;
-- When outputs came to clusters, by each span of their platform objects.
-- A report of an output counts for the one that has brought the folder that the type has there, and for
-- later ones that bring the same folder again, if it still holds then.
create view arrived as
select wanted.id as output, cluster.id as cluster, cluster.environment, object.id as object, span.since,
  case when span.phase <> 2 then null when span.since > wanted.merged then span.since else wanted.merged end as ready,
  case when span.phase <> 3 then null when span.since > wanted.merged then span.since else wanted.merged end as failed
from cluster
join environment on environment.name = cluster.environment
join cluster_type on cluster_type.environment = environment.id and cluster_type.name = cluster.cluster_type
join object on object.cluster = cluster.id and object.name = cluster.platform
join span on span.object = object.id and span.phase in (2, 3)
join revision on revision.id = coalesce(span.attempted, span.revision)
join output reported on reported.sha = revision.sha and reported.environment = environment.id
join desired_type has on has.cluster_type = cluster_type.id and has.from_seq <= reported.seq and (has.to_seq is null or has.to_seq > reported.seq)
join desired_type brought on brought.cluster_type = cluster_type.id and brought.folder = has.folder and brought.from_seq >= has.from_seq
join output wanted on wanted.environment = environment.id and wanted.seq = brought.from_seq
where span.until is null or span.until > wanted.merged;
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
  to_timestamp(state.since) as since, to_timestamp(cluster.last_seen) as last_seen, app.text as app_version
from state
join object on object.id = state.object
join cluster on cluster.id = state.cluster
left join fleet_wanted wanted
  on wanted.environment = cluster.environment and wanted.cluster_type = cluster.cluster_type and wanted.object = object.name
left join revision runs on runs.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join revision app on app.id = state.app
left join message on message.id = state.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;

-- What each object did since a time, and until another one, which is null while it lasts. The name is the
-- one that the cluster has now, the place the one that it had then.
create view fleet_history as
select coalesce(place.environment, cluster.environment) as environment, coalesce(place.cluster_type, cluster.cluster_type) as cluster_type,
  cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(span.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(span.since) as since, to_timestamp(span.until) as until, span.late, app.text as app_version
from span
join object on object.id = span.object
join cluster on cluster.id = object.cluster
left join cluster_place place
  on place.cluster = cluster.id and place.until = (select min(until) from cluster_place where cluster_place.cluster = cluster.id and cluster_place.until > span.since)
left join fleet_wanted wanted
  on wanted.environment = coalesce(place.environment, cluster.environment) and wanted.cluster_type = coalesce(place.cluster_type, cluster.cluster_type)
  and wanted.object = object.name
left join revision runs on runs.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
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
-- silent, and has no objects any more. What an output held that the branch has no longer is unknown, unless
-- an output that is in it has had it.
create view fleet_standing as
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
