-- Whether a span was told of afterwards: when it began, nothing was heard of its cluster.
alter table span add column late boolean not null default false;

create or replace view fleet_history as
select cluster.environment, cluster.cluster_type, cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(span.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(span.since) as since, to_timestamp(span.until) as until, span.late
from span
join object on object.id = span.object
join cluster on cluster.id = object.cluster
left join fleet_wanted wanted
  on wanted.environment = cluster.environment and wanted.cluster_type = cluster.cluster_type and wanted.object = object.name
left join revision runs on runs.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join message on message.id = span.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;
