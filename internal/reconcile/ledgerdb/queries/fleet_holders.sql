-- The clusters of a type that have an object.
select cluster.name
from object
join cluster on cluster.id = object.cluster
join state on state.object = object.id
where object.name = $1 and cluster.environment = $2 and cluster.cluster_type = $3 and object.gone is null
