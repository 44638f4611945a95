insert into environment(id, name, repo, branch, folder, rank) values ((select coalesce(max(id), 0) + 1 from environment), $1, $2, $3, $4, $5)
on conflict (name) do update set repo = excluded.repo, branch = excluded.branch, folder = excluded.folder, rank = excluded.rank
returning id
