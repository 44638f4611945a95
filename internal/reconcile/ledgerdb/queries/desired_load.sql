-- What the deployment targets on a cluster type have now.
select assignment.target, reconciler_file.digest
from assignment
join desired on desired.assignment = assignment.id and desired.to_seq is null
join reconciler_file on reconciler_file.id = desired.file
where assignment.cluster_type = $1
