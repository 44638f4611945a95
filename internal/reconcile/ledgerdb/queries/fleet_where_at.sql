-- What the objects of a name said at a time, by the names of their clusters, with those and the places that they had then.
select cluster.name, coalesce((select cluster_name.name from cluster_name where cluster_name.cluster = object.cluster and cluster_name.since <= $7 order by cluster_name.since desc limit 1), cluster.name),
  coalesce(place.environment, cluster.environment), coalesce(place.cluster_type, cluster.cluster_type),
  span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), false, coalesce(app.text, '')
from object
join cluster on cluster.id = object.cluster
join span on span.object = object.id and span.since <= $7 and (span.until is null or span.until > $7)
left join cluster_place place on place.cluster = cluster.id
  and place.until = (select min(until) from cluster_place where cluster_place.cluster = cluster.id and cluster_place.until > $7)
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
left join message on message.id = span.message
where object.name = $1 and ($2 = '' or coalesce(place.environment, cluster.environment) = $2) and ($3 = '' or coalesce(place.cluster_type, cluster.cluster_type) = $3)
  and ($4 = '' or cluster.name = $4) and cluster.name > $5
order by cluster.name limit $6
