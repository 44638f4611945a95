-- The folders of cluster types in all outputs of an environment: from one output on, and until before another.
select cluster_type.name, desired_type.folder, desired_type.from_seq, coalesce(desired_type.to_seq, 0)
from environment
join cluster_type on cluster_type.environment = environment.id
join desired_type on desired_type.cluster_type = cluster_type.id
where environment.name = $1
order by cluster_type.name, desired_type.from_seq
