select environment.name, environment.repo, environment.branch, environment.folder, environment.rank, output.seq, output.line, output.sha, output.merged
from environment
join output on output.environment = environment.id
where environment.name = $1
order by output.seq desc limit 1
