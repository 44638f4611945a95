-- The spans of an object of the cluster that has a name, or had it last.
select span.since, coalesce(span.until, 0), span.phase, coalesce(revision.text, ''), coalesce(attempted.text, ''), coalesce(message.text, ''), span.late, coalesce(app.text, '')
from object
join span on span.object = object.id
left join revision on revision.id = span.revision
left join revision attempted on attempted.id = span.attempted
left join revision app on app.id = span.app
left join message on message.id = span.message
where object.cluster = (select cluster from cluster_name where name = $1 order by since desc limit 1) and object.name = $2
order by span.since
