select cluster.cluster_type, coalesce(arrival.ready, 0), coalesce(arrival.failed, 0)
from arrival
join cluster on cluster.id = arrival.cluster
where arrival.output = $1
