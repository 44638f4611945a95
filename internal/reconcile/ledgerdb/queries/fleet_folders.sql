-- The folders of cluster types in an output.
select cluster_type.name, desired_type.folder
from environment
join cluster_type on cluster_type.environment = environment.id
join desired_type on desired_type.cluster_type = cluster_type.id and desired_type.from_seq <= $2 and (desired_type.to_seq is null or desired_type.to_seq > $2)
where environment.name = $1
