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
