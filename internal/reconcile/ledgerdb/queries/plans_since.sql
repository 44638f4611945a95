select id, cluster, namespace, object, received, content from plan where received >= $1 order by received
