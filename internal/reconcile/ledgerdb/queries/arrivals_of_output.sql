-- The arrivals of an output. How long it took is known of a cluster that was in touch before.
select cluster.cluster_type, coalesce(arrival.ready, 0), coalesce(arrival.failed, 0), cluster.first_seen <= $2
from arrival
join cluster on cluster.id = arrival.cluster
where arrival.output = $1
