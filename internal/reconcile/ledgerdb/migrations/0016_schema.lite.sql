-- What clusters say. All times are Unix seconds. Phases are those of the package ledger. A message is that of a failure, or
-- the plan that waits: its id, and its kind if it destroys or is of drift.
create table cluster(
  id integer primary key,
  first_name text not null unique, -- which its objects are filed under
  name text not null unique,       -- the one that it has now
  uid text not null,
  environment text not null,
  cluster_type text not null,
  platform text not null,          -- the object that pulls the environment's output
  unproven integer not null,       -- until it has used a key of its own
  every integer not null,          -- seconds
  first_seen integer not null,
  last_seen integer not null,
  rival text not null,
  rival_seen integer not null,
  boot text not null,
  sequence integer not null,
  sent integer not null,
  agent_seen integer not null,
  digest text not null,            -- of what is known of the objects; "" if an agent may know another state
  generation integer not null default 0, -- of the last change; 0 here, where one process writes
  rival_object text not null default '', -- whose uid the rival is; '' if it is a cluster's
  began integer not null default 0, -- when the cluster before it was last in touch; 0 if there was none
  others text not null default ''  -- other objects that apply the output than the platform object, each on a line with its folder
);
create index cluster_by_type on cluster(environment, cluster_type);
create table cluster_name(
  cluster integer not null,
  since integer not null,
  until integer,
  name text not null,
  primary key(cluster, since)
) without rowid;
create index cluster_name_by_name on cluster_name(name, since);
-- Where clusters belonged before, and until when.
create table cluster_place(
  cluster integer not null,
  until integer not null,
  environment text not null,
  cluster_type text not null,
  primary key(cluster, until)
) without rowid;
create table revision(
  id integer primary key,
  text text not null unique,
  sha text not null                -- "" if it is no commit
);
create index revision_by_sha on revision(sha);
create table message(
  id integer primary key,
  text text not null unique        -- one line
);
-- The ids of the objects of a cluster are neighbours.
create table object(
  id integer primary key,
  cluster integer not null,
  name text not null,              -- kind/namespace/name
  gone integer,                    -- since when its cluster no longer has it
  unique(cluster, name)
);
create index object_by_name on object(name, cluster);
-- The uids of objects, in events.
create table object_uid(
  object integer primary key,
  uid text not null,
  other text not null,             -- the one before, or another cluster's
  changed integer not null,        -- when uid took its place
  contested integer not null       -- whether another cluster has other
);
create table state(
  object integer primary key,
  cluster integer not null,
  phase integer not null,
  revision integer,
  attempted integer,
  since integer not null,
  said integer not null,           -- by the clock of the cluster
  level integer not null,
  message integer,
  app integer                      -- the version of the application in the chart that runs, among the revisions; null if none is known
);
-- The reports that fold into a state which is not that of one report.
create table evidence(
  object integer not null,
  number integer not null,
  phase integer not null,
  target integer,
  runs integer,
  said integer not null,
  level integer not null,
  message integer,
  primary key(object, number)
) without rowid;
create table span(
  object integer not null,
  since integer not null,
  until integer,
  phase integer not null,
  revision integer,
  attempted integer,
  message integer,
  late integer not null default 0, -- whether it was told of afterwards: when it began, nothing was heard of its cluster
  app integer,                     -- as in state
  primary key(object, since)
) without rowid;
-- What clusters should run, as the output branches say. It can be read from Git again.
create table environment(
  id integer primary key,
  name text not null unique,
  repo text not null,              -- where its output goes
  branch text not null,
  folder text not null,
  rank integer not null default 0, -- where it comes in the order of promotion
  gone bigint                      -- since when there is no such environment any more; null if there is
);
create table cluster_type(
  id integer primary key,
  environment integer not null,
  name text not null,              -- that of its folder
  expected integer,                -- how many clusters there should be; null if nothing says so
  unique(environment, name)
);
-- The commits of output branches.
create table output(
  id integer primary key,
  environment integer not null,
  seq integer not null,            -- of the environment, in the order in which they were wanted
  line integer not null,           -- another one each time that the branch was rewritten
  sha text not null,
  base text not null,              -- the commit of the base that it was rendered from; "" if it does not say
  plane text not null,             -- the same of the environment's branch of the control plane
  authored integer,                -- when the newest commit was made that it was rendered from; null if it does not say
  merged integer not null,
  abandoned integer,               -- which line of the branch it is not in any more, as the branch was rewritten; null while it is in it
  unique(environment, seq)
);
create index output_by_sha on output(sha, environment, seq);
create index output_by_merged on output(environment, merged);
-- The folders of cluster types: from one output on, and until before another one.
create table desired_type(
  cluster_type integer not null,
  from_seq integer not null,
  to_seq integer,
  folder text not null,            -- the id of its tree
  primary key(cluster_type, from_seq)
) without rowid;
create index desired_type_now on desired_type(cluster_type, folder) where to_seq is null;
create index desired_type_by_folder on desired_type(cluster_type, folder, from_seq);
-- A deployment target on a cluster type.
create table assignment(
  id integer primary key,
  cluster_type integer not null,
  target text not null,            -- the name of its folder
  unique(cluster_type, target)
);
create index assignment_by_target on assignment(target, cluster_type);
-- A reconciler.yaml, by the id of its blob.
create table reconciler_file(
  id integer primary key,
  digest text not null unique
);
-- The objects in a reconciler.yaml that report of what they apply.
create table part(
  file integer not null,
  object text not null,            -- kind/namespace/name, as in the table object
  repo text not null,              -- of Git, of charts or of artifacts
  ref text not null,               -- the branch, tag, range or digest that is asked for
  path text not null,              -- the folder; of a chart, its name
  pinned text,                     -- the only revision that ref can be; null if it may move
  primary key(file, object)
) without rowid;
create index part_by_object on part(object, file);
-- The reconciler.yaml of assignments: from one output on, and until before another one.
create table desired(
  assignment integer not null,
  from_seq integer not null,
  to_seq integer,
  file integer not null,
  primary key(assignment, from_seq)
) without rowid;
create index desired_now on desired(assignment) where to_seq is null;
-- What people call a commit of a workload's repository.
create table version(
  repo text not null,              -- of a part
  sha text not null,
  path text not null,              -- of a part
  version text not null,
  build text not null,             -- the number of its build; "" if nothing says it
  source_sha text not null,        -- the commit that it was built from; "" if nothing says it
  built integer,                   -- when; null if nothing says it
  primary key(repo, sha, path)
) without rowid;
-- When a cluster was first ready with what an output has brought to its type, and when it first failed.
create table arrival(
  output integer not null,
  cluster integer not null,
  ready integer,
  failed integer,
  primary key(output, cluster)
) without rowid;
create index arrival_by_cluster on arrival(cluster, ready);
create index arrival_by_failure on arrival(cluster, failed) where failed is not null;
-- What is left of arrivals that are no longer kept: how long an output took to the clusters of a type. By
-- its commit, as the ids of outputs are others when they were read again from Git. Of an output that was
-- merged twice, because its branch was rewritten, there are two.
create table arrival_day(
  environment text not null,
  sha text not null,
  cluster_type text not null,      -- * for all of them together
  merged integer not null,
  ready integer not null,          -- how many clusters were ready with it
  failed integer not null,         -- how many failed at first
  p50 integer,                     -- seconds from the merge; null if none was ready
  p90 integer,
  p95 integer,
  slowest integer,
  clusters integer not null,       -- how many had it
  first_failed integer,            -- after how many seconds the first one failed; null if none did
  primary key(environment, sha, cluster_type, merged)
) without rowid;
create index arrival_day_by_merged on arrival_day(merged);
-- What is left of spans that are no longer kept, added up by days of UTC, which are numbers since 1970.
create table phase_day(
  day integer not null,
  environment text not null,
  cluster_type text not null,
  object text not null,            -- kind/namespace/name, on whatever cluster
  phase integer not null,
  seconds integer not null,
  changes integer not null,        -- how many spans began
  primary key(day, environment, cluster_type, object, phase)
) without rowid;
create table refusal(
  day integer not null,
  cluster text not null,           -- its name; "" for names that no cluster has
  reason text not null,
  count integer not null,
  last integer not null,
  primary key(day, cluster, reason)
) without rowid;
-- Counts the transactions that add up and delete, so that nothing is added up twice.
create table retention(
  id integer primary key check (id = 1),
  round integer not null
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
