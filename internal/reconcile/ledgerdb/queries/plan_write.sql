insert into plan(id, cluster, namespace, object, received, content) values ($1, $2, $3, $4, $5, $6)
on conflict (id) do update set received = excluded.received, content = excluded.content
