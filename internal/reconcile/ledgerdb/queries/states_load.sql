select object.id, object.cluster, object.name, state.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), state.since, state.said, state.level, coalesce(message.text, ''), coalesce(app.text, '')
from cluster
join object on object.cluster = cluster.id
join state on state.object = object.id
left join revision on revision.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join revision app on app.id = state.app
left join message on message.id = state.message
where cluster.generation > $1
