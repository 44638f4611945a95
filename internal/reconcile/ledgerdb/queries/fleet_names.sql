-- The names of objects, each once: a step by the index for each.
with recursive known(name) as (
  select min(name) from object
  union all
  select (select min(object.name) from object where object.name > known.name) from known where known.name is not null
)
select name from known where name is not null
