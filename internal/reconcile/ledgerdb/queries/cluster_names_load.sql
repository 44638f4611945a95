select cluster, name, since from cluster_name order by cluster, since
