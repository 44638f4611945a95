-- What people call the commit that an object runs.
select version.version
from part
join version on version.repo = part.repo and version.path = part.path and version.sha = $2
where part.object = $1
order by version.version limit 1
