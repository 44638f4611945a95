-- Where clusters belonged before, and until when.
create table cluster_place(
  cluster bigint not null,
  until bigint not null,
  environment text not null,
  cluster_type text not null,
  primary key(cluster, until)
);

-- The place is the one that the cluster had then.
create or replace view fleet_history as
select coalesce(place.environment, cluster.environment) as environment, coalesce(place.cluster_type, cluster.cluster_type) as cluster_type,
  cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(span.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(span.since) as since, to_timestamp(span.until) as until, span.late
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
left join message on message.id = span.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;
