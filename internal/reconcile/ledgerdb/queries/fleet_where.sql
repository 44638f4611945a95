-- What the objects of a name say, by the names of their clusters.
select cluster.name, cluster.name, cluster.environment, cluster.cluster_type, state.since, 0, state.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), false, coalesce(app.text, '')
from object
join cluster on cluster.id = object.cluster
join state on state.object = object.id
left join revision on revision.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join revision app on app.id = state.app
left join message on message.id = state.message
where object.name = $1 and ($2 = '' or cluster.environment = $2) and ($3 = '' or cluster.cluster_type = $3) and ($4 = '' or cluster.name = $4) and cluster.name > $5
order by cluster.name limit $6
