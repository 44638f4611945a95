-- The version of the application in the chart that runs, among the revisions; null if none is known.
alter table state add column app bigint;
alter table span add column app bigint;

create or replace view fleet_now as
select cluster.environment, cluster.cluster_type, cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(state.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(state.since) as since, to_timestamp(cluster.last_seen) as last_seen, app.text as app_version
from state
join object on object.id = state.object
join cluster on cluster.id = state.cluster
left join fleet_wanted wanted
  on wanted.environment = cluster.environment and wanted.cluster_type = cluster.cluster_type and wanted.object = object.name
left join revision runs on runs.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join revision app on app.id = state.app
left join message on message.id = state.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;

create or replace view fleet_history as
select coalesce(place.environment, cluster.environment) as environment, coalesce(place.cluster_type, cluster.cluster_type) as cluster_type,
  cluster.name as cluster, object.name as object, object.name = cluster.platform as platform,
  wanted.target, fleet_phase(span.phase) as phase,
  coalesce(version.version, runs.text) as version, runs.text as revision, attempted.text as attempted, message.text as message,
  to_timestamp(span.since) as since, to_timestamp(span.until) as until, span.late, app.text as app_version
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
left join revision app on app.id = span.app
left join message on message.id = span.message
left join version on version.repo = wanted.repo and version.sha = runs.sha and version.path = wanted.path;
