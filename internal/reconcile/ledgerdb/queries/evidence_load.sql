select evidence.object, evidence.phase, coalesce(target.text, ''), coalesce(runs.text, ''), evidence.said, evidence.level, coalesce(message.text, '')
from cluster
join object on object.cluster = cluster.id
join evidence on evidence.object = object.id
left join revision target on target.id = evidence.target
left join revision runs on runs.id = evidence.runs
left join message on message.id = evidence.message
where cluster.generation > $1
order by evidence.object, evidence.number
