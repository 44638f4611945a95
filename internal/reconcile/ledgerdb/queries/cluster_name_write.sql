insert into cluster_name(cluster, since, until, name) values ($1, $2, $3, $4)
on conflict (cluster, since) do update set until = excluded.until, name = excluded.name
