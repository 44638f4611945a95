delete from cluster_type
