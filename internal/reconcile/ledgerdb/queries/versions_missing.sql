-- The commits that clusters of an environment report of parts, and for which no version is known.
select distinct part.repo, revision.sha, part.path, assignment.target
from (
  select cluster.cluster_type, object.name, state.revision
  from cluster
  join object on object.cluster = cluster.id
  join state on state.object = object.id
  where cluster.environment = $1 and state.revision is not null
  union
  select cluster.cluster_type, object.name, state.attempted
  from cluster
  join object on object.cluster = cluster.id
  join state on state.object = object.id
  where cluster.environment = $1 and state.attempted is not null
) reported
join environment on environment.name = $1
join cluster_type on cluster_type.environment = environment.id and cluster_type.name = reported.cluster_type
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id and desired.to_seq is null
join part on part.file = desired.file and part.object = reported.name
join revision on revision.id = reported.revision
where revision.sha <> '' and part.repo <> '' and not exists (
  select 1 from version where version.repo = part.repo and version.sha = revision.sha and version.path = part.path)
