select output.sha, output.seq, output.abandoned is not null, output.base, coalesce(output.authored, 0), output.merged
from environment
join output on output.environment = environment.id
where environment.name = $1 and output.sha = $2
order by output.seq desc limit 1
