-- It was deleted if its environment was gone for long.
insert into object(id, cluster, name) values ($1, $2, $3)
on conflict do nothing
