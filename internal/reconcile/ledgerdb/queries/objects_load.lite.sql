-- The objects of a cluster, with those that it no longer has, and whether there is evidence of them.
select cluster, id, name, gone is not null, exists (select 1 from evidence where evidence.object = object.id) from object where cluster = $1
