select span.since, span.phase, coalesce(revision.text, ''), coalesce(attempted.text, '')
from span
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
where span.object = $1 and span.since < $2 order by span.since desc limit 1
