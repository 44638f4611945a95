insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest, rival_object, began, others)
values ((select coalesce(max(id), 0) + 1 from cluster), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
on conflict (first_name) do update set
  name = excluded.name, uid = excluded.uid, environment = excluded.environment, cluster_type = excluded.cluster_type, platform = excluded.platform,
  unproven = excluded.unproven, every = excluded.every, last_seen = excluded.last_seen, rival = excluded.rival, rival_seen = excluded.rival_seen,
  boot = excluded.boot, sequence = excluded.sequence, sent = excluded.sent, agent_seen = excluded.agent_seen, digest = excluded.digest,
  rival_object = excluded.rival_object, began = excluded.began, others = excluded.others
