-- The objects that the reconciler.yaml of a deployment target has, or had.
select distinct part.object
from assignment
join desired on desired.assignment = assignment.id
join part on part.file = desired.file
where assignment.target = $1
order by part.object
