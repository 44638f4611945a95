select day, cluster, reason, count, last
from refusal where day >= $1
order by day desc, cluster, reason
