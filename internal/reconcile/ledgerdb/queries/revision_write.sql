insert into revision(text, sha) values ($1, $2) on conflict (text) do update set sha = excluded.sha returning id
