-- The objects of clusters, with those that they no longer have, and whether there is evidence of them.
select cluster, id, name, gone is not null, exists (select 1 from evidence where evidence.object = object.id) from object where cluster = any($1::bigint[])
