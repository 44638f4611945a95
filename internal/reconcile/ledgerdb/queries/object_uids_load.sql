select object_uid.object, object_uid.uid, object_uid.other, object_uid.changed, object_uid.contested
from cluster
join object on object.cluster = cluster.id
join object_uid on object_uid.object = object.id
where cluster.generation > $1
