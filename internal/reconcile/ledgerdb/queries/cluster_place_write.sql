insert into cluster_place(cluster, until, environment, cluster_type) values ($1, $2, $3, $4)
on conflict (cluster, until) do update set environment = excluded.environment, cluster_type = excluded.cluster_type
