-- The arrivals of outputs: of an environment, from one to another.
select output.seq, coalesce(arrival.ready, 0), coalesce(arrival.failed, 0), cluster.first_seen <= output.merged
from environment
join output on output.environment = environment.id and output.seq between $2 and $3
join arrival on arrival.output = output.id
join cluster on cluster.id = arrival.cluster
where environment.name = $1
