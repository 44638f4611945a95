select object.id, object.cluster, object.name, state.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), state.since, state.said, state.level, coalesce(message.text, '')
from state
join object on object.id = state.object
left join revision on revision.id = state.revision
left join revision attempted on attempted.id = state.attempted
left join message on message.id = state.message
