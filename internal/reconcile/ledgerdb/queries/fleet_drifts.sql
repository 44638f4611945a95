-- When the objects of a name had drifted, the newest first, and until when: until they were ready, or gone.
select cluster.name, coalesce(place.environment, cluster.environment), span.since,
  coalesce((select min(ready.since) from span ready where ready.object = object.id and ready.since > span.since and ready.phase = $3), object.gone, 0),
  coalesce(message.text, '')
from object
join cluster on cluster.id = object.cluster
join span on span.object = object.id and span.phase = $2
left join cluster_place place on place.cluster = cluster.id
  and place.until = (select min(until) from cluster_place where cluster_place.cluster = cluster.id and cluster_place.until > span.since)
left join message on message.id = span.message
where object.name = $1
order by span.since desc, cluster.name limit $4
