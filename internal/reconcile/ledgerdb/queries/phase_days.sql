select day, environment, cluster_type, object, phase, seconds, changes
from phase_day where day >= $1
order by day, environment, cluster_type, object, phase
