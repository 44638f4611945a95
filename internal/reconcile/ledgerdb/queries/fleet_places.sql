-- Where the outputs of cluster types are.
select environment.name, cluster_type.name, environment.repo, environment.branch, environment.folder
from environment
join cluster_type on cluster_type.environment = environment.id
order by environment.name, cluster_type.name
