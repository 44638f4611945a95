-- What clusters should run, as the output branches say. It can be read from Git again.
create table environment(
  id bigint primary key,
  name text not null unique,
  repo text not null,              -- where its output goes
  branch text not null,
  folder text not null
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
  built bigint,                  -- when; null if nothing says it
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
