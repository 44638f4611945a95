-- What the objects of a name said at a time, with the names that their clusters had then.
select coalesce((select cluster_name.name from cluster_name where cluster_name.cluster = object.cluster and cluster_name.since <= $2 order by cluster_name.since desc limit 1), ''),
  span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), span.late, coalesce(app.text, '')
from object
join cluster on cluster.id = object.cluster
join span on span.object = object.id and span.since <= $2 and (span.until is null or span.until > $2)
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
left join message on message.id = span.message
where object.name = $1
order by cluster.first_seen, cluster.first_name
