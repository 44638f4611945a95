-- The objects that the reconciler.yaml of a deployment target has now.
select distinct part.object
from assignment
join desired on desired.assignment = assignment.id and desired.to_seq is null
join part on part.file = desired.file
where assignment.target = $1
order by part.object
