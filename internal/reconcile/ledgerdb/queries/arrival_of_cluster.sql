-- When outputs came to a cluster, by the spans of its platform object since a time.
-- A report of an output counts for the one that has brought the folder that the type has there, and for
-- later ones that bring the same folder again, if it still holds then.
insert into arrival(output, cluster, ready, failed)
select wanted.id, cluster.id,
  min(case when span.phase <> 2 then null when span.since > wanted.merged then span.since else wanted.merged end),
  min(case when span.phase <> 3 then null when span.since > wanted.merged then span.since else wanted.merged end)
from cluster
join environment on environment.name = cluster.environment
join cluster_type on cluster_type.environment = environment.id and cluster_type.name = cluster.cluster_type
join object on object.cluster = cluster.id and object.name = cluster.platform
join span on span.object = object.id and span.phase in (2, 3) and span.since >= $2
join revision on revision.id = coalesce(span.attempted, span.revision)
join output reported on reported.sha = revision.sha and reported.environment = environment.id
join desired_type has on has.cluster_type = cluster_type.id and has.from_seq <= reported.seq and (has.to_seq is null or has.to_seq > reported.seq)
join desired_type brought on brought.cluster_type = cluster_type.id and brought.folder = has.folder and brought.from_seq >= has.from_seq
join output wanted on wanted.environment = environment.id and wanted.seq = brought.from_seq
where cluster.id = $1 and (span.until is null or span.until > wanted.merged)
group by wanted.id, cluster.id
on conflict (output, cluster) do update set
  ready = case when arrival.ready <= excluded.ready or excluded.ready is null then arrival.ready else excluded.ready end,
  failed = case when arrival.failed <= excluded.failed or excluded.failed is null then arrival.failed else excluded.failed end
where excluded.ready < coalesce(arrival.ready, excluded.ready + 1) or excluded.failed < coalesce(arrival.failed, excluded.failed + 1)
