insert into assignment(id, cluster_type, target) values ((select coalesce(max(id), 0) + 1 from assignment), $1, $2)
on conflict (cluster_type, target) do nothing
