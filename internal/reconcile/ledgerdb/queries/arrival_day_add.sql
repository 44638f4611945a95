-- What arrives after the others were added up is of no output that is wanted, and does not count.
insert into arrival_day(environment, sha, cluster_type, merged, clusters, ready, failed, p50, p90, p95, slowest, first_failed)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (environment, sha, cluster_type, merged) do nothing
