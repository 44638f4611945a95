-- What clusters with an agent should have by the newest output, and do not have.
select cluster.name, cluster.cluster_type, part.object, assignment.target
from environment
join cluster on cluster.environment = environment.name and cluster.boot <> ''
join cluster_type on cluster_type.environment = environment.id and cluster_type.name = cluster.cluster_type
join assignment on assignment.cluster_type = cluster_type.id
join desired on desired.assignment = assignment.id and desired.to_seq is null
join part on part.file = desired.file
where environment.name = $1 and not exists (select 1 from object where object.cluster = cluster.id and object.name = part.object and object.gone is null)
