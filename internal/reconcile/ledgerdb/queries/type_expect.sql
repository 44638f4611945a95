insert into cluster_type(id, environment, name, expected) values ((select coalesce(max(id), 0) + 1 from cluster_type), $1, $2, $3)
on conflict (environment, name) do update set expected = excluded.expected
