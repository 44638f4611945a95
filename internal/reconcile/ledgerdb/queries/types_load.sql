-- The cluster types of an environment, with the folders that they have now.
select cluster_type.name, cluster_type.expected, coalesce(desired_type.folder, '')
from environment
join cluster_type on cluster_type.environment = environment.id
left join desired_type on desired_type.cluster_type = cluster_type.id and desired_type.to_seq is null
where environment.name = $1
