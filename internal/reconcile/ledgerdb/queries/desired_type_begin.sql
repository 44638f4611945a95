insert into desired_type(cluster_type, from_seq, folder) values ($1, $2, $3)
