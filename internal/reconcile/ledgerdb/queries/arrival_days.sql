select sha, cluster_type, merged, clusters, ready, failed, coalesce(p50, -1), coalesce(p90, -1), coalesce(p95, -1), coalesce(slowest, -1), coalesce(first_failed, -1)
from arrival_day where environment = $1 and cluster_type <> '*'
order by merged desc, sha, cluster_type
