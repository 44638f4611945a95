-- The spans of an object since a time, from the one on that began before it.
select span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), span.late, coalesce(app.text, '')
from cluster
join object on object.cluster = cluster.id and object.name = $2
join span on span.object = object.id and span.since >= coalesce((select max(since) from span where span.object = object.id and span.since < $3), 0)
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
left join message on message.id = span.message
where cluster.first_name = $1
order by span.since
