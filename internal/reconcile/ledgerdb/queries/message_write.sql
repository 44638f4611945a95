insert into message(text) values ($1) on conflict (text) do update set text = excluded.text returning id
