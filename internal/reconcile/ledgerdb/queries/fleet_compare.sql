-- What the objects of two environments run, and how many clusters are ready with it.
select runs.name, runs.environment, coalesce(revision.text, ''), runs.clusters, runs.ready
from (
  select object.name, cluster.environment, state.revision, count(*) as clusters, sum(case when state.phase = 2 then 1 else 0 end) as ready
  from cluster
  join object on object.cluster = cluster.id
  join state on state.object = object.id
  where cluster.environment in ($1, $2) and object.name <> cluster.platform
  group by object.name, cluster.environment, state.revision
) runs
left join revision on revision.id = runs.revision
order by runs.name, runs.environment, revision.text
