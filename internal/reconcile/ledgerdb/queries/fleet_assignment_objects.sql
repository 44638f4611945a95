-- The objects that an assignment has had.
select distinct part.object
from desired
join part on part.file = desired.file
where desired.assignment = $1
order by part.object
