-- The cluster types whose folder in an output no output of the branch has had that is in it still.
select cluster_type.name
from environment
join cluster_type on cluster_type.environment = environment.id
join desired_type has on has.cluster_type = cluster_type.id and has.from_seq <= $2 and (has.to_seq is null or has.to_seq > $2)
where environment.name = $1
  and not exists (
    select 1
    from desired_type since
    join output on output.environment = environment.id and output.abandoned is null
      and output.seq >= since.from_seq and (since.to_seq is null or output.seq < since.to_seq)
    where since.cluster_type = has.cluster_type and since.folder = has.folder)
order by cluster_type.name
