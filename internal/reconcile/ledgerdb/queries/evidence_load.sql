select evidence.object, evidence.phase, coalesce(target.text, ''), coalesce(runs.text, ''), evidence.said, evidence.level, coalesce(message.text, '')
from evidence
left join revision target on target.id = evidence.target
left join revision runs on runs.id = evidence.runs
left join message on message.id = evidence.message
order by evidence.object, evidence.number
