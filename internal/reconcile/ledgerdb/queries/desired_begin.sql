insert into desired(assignment, from_seq, file)
select assignment.id, $3, reconciler_file.id
from assignment
join reconciler_file on reconciler_file.digest = $4
where assignment.cluster_type = $1 and assignment.target = $2
