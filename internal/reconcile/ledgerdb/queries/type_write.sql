insert into cluster_type(id, environment, name) values ((select coalesce(max(id), 0) + 1 from cluster_type), $1, $2)
on conflict (environment, name) do update set name = excluded.name
returning id
