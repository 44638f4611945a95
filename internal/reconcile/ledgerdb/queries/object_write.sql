-- It may be there under a name that the database cannot tell from this one.
insert into object(id, cluster, name) values ($1, $2, $3)
on conflict (cluster, name) do nothing
