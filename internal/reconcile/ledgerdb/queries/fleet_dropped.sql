-- The objects that cluster types once had, and should no longer have.
select cluster_type.name, part.object, min(assignment.target)
from environment
join cluster_type on cluster_type.environment = environment.id
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id
join part on part.file = desired.file
where environment.name = $1
group by cluster_type.name, part.object
having sum(case when desired.to_seq is null then 1 else 0 end) = 0
