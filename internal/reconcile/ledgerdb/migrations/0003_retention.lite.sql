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
