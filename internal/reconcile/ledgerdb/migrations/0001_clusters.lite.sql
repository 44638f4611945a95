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
  generation integer not null default 0 -- of the last change; 0 here, where one process writes
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
create table state(
  object integer primary key,
  cluster integer not null,
  phase integer not null,
  revision integer,
  attempted integer,
  since integer not null,
  said integer not null,           -- by the clock of the cluster
  level integer not null,
  message integer
);
create index state_bad on state(phase, since) where phase <> 2;
create index state_by_revision on state(revision);
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
  primary key(object, since)
) without rowid;
create index span_by_revision on span(revision, since);
