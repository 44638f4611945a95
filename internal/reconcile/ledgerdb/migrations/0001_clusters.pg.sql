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
  generation bigint not null       -- of the last change
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
create table state(
  object bigint primary key,
  cluster bigint not null,
  phase smallint not null,
  revision bigint,
  attempted bigint,
  since bigint not null,
  said bigint not null,            -- by the clock of the cluster
  level boolean not null,
  message bigint
) with (fillfactor = 70);
create index state_bad on state(phase, since) where phase <> 2;
create index state_by_revision on state(revision);
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
  primary key(object, since)
);
create index span_by_revision on span(revision, since);
