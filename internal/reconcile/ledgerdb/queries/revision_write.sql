insert into revision(id, text, sha) values ((select coalesce(max(id), 0) + 1 from revision), $1, $2)
on conflict (text) do update set sha = excluded.sha returning id
