-- When the first output of an environment was merged of which it is known how it came to clusters.
select min(known.merged)
from (
  select merged from arrival_day where environment = $1
  union all
  select merged
  from (
    select output.merged
    from environment
    join output on output.environment = environment.id
    where environment.name = $1 and exists (select 1 from arrival where arrival.output = output.id)
    order by output.merged limit 1
  ) first_kept
) known
having min(known.merged) is not null
