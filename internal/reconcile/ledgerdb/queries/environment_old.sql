-- An environment that is gone, and has no object any more.
select environment.id
from environment
where environment.gone < $1 and not exists (
  select 1 from cluster join object on object.cluster = cluster.id where cluster.environment = environment.name)
order by environment.id
limit 1
