select cluster_place.cluster, cluster_place.until, cluster_place.environment, cluster_place.cluster_type
from cluster_place
join cluster on cluster.id = cluster_place.cluster
where cluster.generation > $1
order by cluster_place.cluster, cluster_place.until
