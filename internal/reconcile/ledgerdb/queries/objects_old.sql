-- The objects of clusters of an environment that is gone which are gone, too, and have no span any more.
select object.id
from environment
join cluster on cluster.environment = environment.name
join object on object.cluster = cluster.id and object.gone < $1
where environment.gone < $1 and not exists (select 1 from span where span.object = object.id)
order by object.id
limit $2
