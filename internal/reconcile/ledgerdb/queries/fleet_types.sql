select cluster_type.name, coalesce(cluster_type.expected, -1)
from environment
join cluster_type on cluster_type.environment = environment.id
where environment.name = $1
