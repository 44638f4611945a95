select environment.name, output.sha, output.id
from output
join environment on environment.id = output.environment
order by output.environment, output.seq
