select assignment.id
from cluster_type
join assignment on assignment.cluster_type = cluster_type.id
where cluster_type.environment = $1
order by assignment.id
limit $2
