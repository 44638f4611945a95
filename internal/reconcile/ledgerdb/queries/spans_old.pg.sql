-- The spans that ended before a time, but the last of each object, by object from one on. The last goes, too, if
-- the object and its environment are gone. Each object is looked up for itself: most have none.
select object.id, coalesce(place.environment, cluster.environment), coalesce(place.cluster_type, cluster.cluster_type), object.name, ended.since, ended.until, ended.phase, coalesce(ended.message, 0)
from object
join cluster on cluster.id = object.cluster
cross join lateral (
  select span.since, span.until, span.phase, span.message
  from span
  where span.object = object.id and span.since < $2 and span.until < $2
    and (
      exists (select 1 from span later where later.object = span.object and later.since > span.since and later.until is not null)
      or object.gone < $2 and exists (select 1 from environment where environment.name = cluster.environment and environment.gone < $2))
  order by span.since
) ended
left join cluster_place place on place.cluster = cluster.id
  and place.until = (select min(until) from cluster_place where cluster_place.cluster = cluster.id and cluster_place.until > ended.since)
where object.id >= $1
order by object.id, ended.since
limit $3
