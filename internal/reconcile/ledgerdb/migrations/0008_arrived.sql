-- When outputs came to clusters, by each span of their platform objects.
-- A report of an output counts for the one that has brought the folder that the type has there, and for
-- later ones that bring the same folder again, if it still holds then.
create view arrived as
select wanted.id as output, cluster.id as cluster, cluster.environment, object.id as object, span.since,
  case when span.phase <> 2 then null when span.since > wanted.merged then span.since else wanted.merged end as ready,
  case when span.phase <> 3 then null when span.since > wanted.merged then span.since else wanted.merged end as failed
from cluster
join environment on environment.name = cluster.environment
join cluster_type on cluster_type.environment = environment.id and cluster_type.name = cluster.cluster_type
join object on object.cluster = cluster.id and object.name = cluster.platform
join span on span.object = object.id and span.phase in (2, 3)
join revision on revision.id = coalesce(span.attempted, span.revision)
join output reported on reported.sha = revision.sha and reported.environment = environment.id
join desired_type has on has.cluster_type = cluster_type.id and has.from_seq <= reported.seq and (has.to_seq is null or has.to_seq > reported.seq)
join desired_type brought on brought.cluster_type = cluster_type.id and brought.folder = has.folder and brought.from_seq >= has.from_seq
join output wanted on wanted.environment = environment.id and wanted.seq = brought.from_seq
where span.until is null or span.until > wanted.merged;
