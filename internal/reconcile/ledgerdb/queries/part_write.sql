insert into part(file, object, repo, ref, path, pinned)
select id, $2, $3, $4, $5, $6 from reconciler_file where digest = $1
on conflict (file, object) do nothing
