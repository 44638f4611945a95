update desired set to_seq = $3 where to_seq is null and assignment = (select id from assignment where cluster_type = $1 and target = $2)
