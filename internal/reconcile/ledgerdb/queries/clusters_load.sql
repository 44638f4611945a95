select id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest,
  rival_object, began, others
from cluster where generation > $1 order by id
