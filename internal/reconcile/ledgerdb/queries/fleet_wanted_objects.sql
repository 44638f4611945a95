-- The objects that cluster types should have, by deployment target, and those that they once should have had.
select cluster_type.name, part.object, assignment.target, false
from environment
join cluster_type on cluster_type.environment = environment.id
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id and desired.to_seq is null
join part on part.file = desired.file
where environment.name = $1
union all
select cluster_type.name, part.object, min(assignment.target), true
from environment
join cluster_type on cluster_type.environment = environment.id
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id
join part on part.file = desired.file
where environment.name = $1
group by cluster_type.name, part.object
having sum(case when desired.to_seq is null then 1 else 0 end) = 0
