insert into message(id, text) values ((select coalesce(max(id), 0) + 1 from message), $1)
on conflict (text) do update set text = excluded.text returning id
