-- The first output whose arrivals are no longer kept: what it has brought to each type was replaced before
-- a time.
select output.id, environment.name, output.sha, output.merged
from output
join environment on environment.id = output.environment
where output.merged < $1
  and exists (select 1 from arrival where arrival.output = output.id)
  and not exists (
    select 1
    from cluster_type
    join desired_type on desired_type.cluster_type = cluster_type.id and desired_type.from_seq = output.seq
    left join output next on next.environment = output.environment and next.seq = desired_type.to_seq
    where cluster_type.environment = output.environment and (next.merged is null or next.merged >= $1))
order by output.id
limit 1
