-- The histories of the objects of a name, by the names of their clusters.
select page.name, page.name, page.environment, page.cluster_type, span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), span.late
from (
  select object.id, cluster.name, cluster.environment, cluster.cluster_type
  from object
  join cluster on cluster.id = object.cluster
  where object.name = $1 and ($2 = '' or cluster.environment = $2) and ($3 = '' or cluster.cluster_type = $3) and ($4 = '' or cluster.name = $4) and cluster.name >= $5 and exists (select 1 from span where span.object = object.id)
  order by cluster.name limit $6 + 1
) page
join span on span.object = page.id and (page.name > $5 or span.since > $7)
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join message on message.id = span.message
order by page.name, span.since limit $6
