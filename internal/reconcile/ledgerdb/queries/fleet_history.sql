-- The histories of the objects of a name, by the names of their clusters, with the places where these were former.
select page.name, page.name, coalesce(place.environment, page.environment), coalesce(place.cluster_type, page.cluster_type),
  span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), span.late, coalesce(app.text, '')
from (
  select object.id, object.cluster, cluster.name, cluster.environment, cluster.cluster_type
  from object
  join cluster on cluster.id = object.cluster
  where object.name = $1 and ($4 = '' or cluster.name = $4) and cluster.name >= $5
    and ($2 = '' or cluster.environment = $2 or exists (select 1 from cluster_place where cluster_place.cluster = cluster.id and cluster_place.environment = $2))
    and ($3 = '' or cluster.cluster_type = $3 or exists (select 1 from cluster_place where cluster_place.cluster = cluster.id and cluster_place.cluster_type = $3))
    and exists (
      select 1 from span
      left join cluster_place former on former.cluster = cluster.id
        and former.until = (select min(until) from cluster_place where cluster_place.cluster = cluster.id and cluster_place.until > span.since)
      where span.object = object.id and ($2 = '' or coalesce(former.environment, cluster.environment) = $2) and ($3 = '' or coalesce(former.cluster_type, cluster.cluster_type) = $3))
  order by cluster.name limit $6 + 1
) page
join span on span.object = page.id and (page.name > $5 or span.since > $7)
left join cluster_place place on place.cluster = page.cluster
  and place.until = (select min(until) from cluster_place where cluster_place.cluster = page.cluster and cluster_place.until > span.since)
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
left join message on message.id = span.message
where ($2 = '' or coalesce(place.environment, page.environment) = $2) and ($3 = '' or coalesce(place.cluster_type, page.cluster_type) = $3)
order by page.name, span.since limit $6
