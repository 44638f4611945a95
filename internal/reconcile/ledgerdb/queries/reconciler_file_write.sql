insert into reconciler_file(id, digest) values ((select coalesce(max(id), 0) + 1 from reconciler_file), $1)
on conflict (digest) do nothing
