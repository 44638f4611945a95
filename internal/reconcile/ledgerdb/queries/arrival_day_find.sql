-- Of an output at the clusters of all types.
select sha, cluster_type, merged, ready, failed, coalesce(p50, -1), coalesce(p90, -1), coalesce(p95, -1), coalesce(slowest, -1)
from arrival_day where environment = $1 and sha = $2 and cluster_type = '*'
