-- Of an output that was merged twice, because its branch was rewritten, there are two sums. How many
-- clusters had it, and after how many seconds the first one failed, is added up as well.
create table arrival_sum(
  environment text not null,
  sha text not null,
  cluster_type text not null,
  merged integer not null,
  clusters integer not null,
  ready integer not null,
  failed integer not null,
  p50 integer,
  p90 integer,
  p95 integer,
  slowest integer,
  first_failed integer,
  primary key(environment, sha, cluster_type, merged)
) without rowid;
insert into arrival_sum(environment, sha, cluster_type, merged, clusters, ready, failed, p50, p90, p95, slowest)
select environment, sha, cluster_type, merged, max(ready, failed), ready, failed, p50, p90, p95, slowest from arrival_day;
drop table arrival_day;
alter table arrival_sum rename to arrival_day;
create index arrival_day_by_merged on arrival_day(merged);
