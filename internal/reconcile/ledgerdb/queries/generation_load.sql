select coalesce(max(generation), 0) from cluster
