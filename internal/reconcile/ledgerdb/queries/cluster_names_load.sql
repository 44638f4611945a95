select cluster_name.cluster, cluster_name.name, cluster_name.since
from cluster_name
join cluster on cluster.id = cluster_name.cluster
where cluster.generation > $1
order by cluster_name.cluster, cluster_name.since
