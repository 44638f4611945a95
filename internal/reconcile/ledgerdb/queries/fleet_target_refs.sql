-- What the objects of deployment targets ask for in an output, by cluster type: each cluster that has the output runs it.
select cluster_type.name, assignment.target, part.ref
from environment
join cluster_type on cluster_type.environment = environment.id
join assignment on assignment.cluster_type = cluster_type.id
join part on part.file = (
  select desired.file from desired
  where desired.assignment = assignment.id
  and desired.from_seq <= (select max(output.seq) from output where output.environment = environment.id and output.sha = $2)
  and (desired.to_seq is null or desired.to_seq > (select max(output.seq) from output where output.environment = environment.id and output.sha = $3))
  order by desired.from_seq desc limit 1
)
where environment.name = $1
order by cluster_type.name, assignment.target, part.object
