-- What is left of arrivals that are no longer kept: how long an output took to the clusters of a type. By
-- its commit, as the ids of outputs are others when they were read again from Git.
create table arrival_day(
  environment text not null,
  sha text not null,
  cluster_type text not null,      -- * for all of them together
  merged integer not null,
  ready integer not null,              -- how many clusters were ready with it
  failed integer not null,             -- how many failed at first
  p50 integer,                         -- seconds from the merge; null if none was ready
  p90 integer,
  p95 integer,
  slowest integer,
  primary key(environment, sha, cluster_type)
);
create index arrival_day_by_merged on arrival_day(merged);
