select output.id
from environment
join output on output.environment = environment.id and output.sha = $2
where environment.name = $1
order by output.seq desc limit 1
