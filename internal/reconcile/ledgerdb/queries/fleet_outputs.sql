-- The outputs of an environment since a time, the newest first.
select output.seq, output.sha, output.base, coalesce(output.authored, 0), output.merged
from environment
join output on output.environment = environment.id
where environment.name = $1 and output.merged >= $2 and output.seq < $3
order by output.seq desc limit $4
