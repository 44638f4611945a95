-- The names of deployment targets, each once: a step by the index for each.
with recursive known(name) as (
  select min(target) from assignment
  union all
  select (select min(assignment.target) from assignment where assignment.target > known.name) from known where known.name is not null
)
select name from known where name is not null
