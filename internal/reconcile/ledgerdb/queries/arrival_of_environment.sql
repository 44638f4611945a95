-- When outputs came to the clusters of an environment, by what they have said at a time and since.
insert into arrival(output, cluster, ready, failed)
select output, cluster, min(ready), min(failed)
from arrived
where environment = $1 and since >= coalesce((select max(span.since) from span where span.object = arrived.object and span.since <= $2), 0)
group by output, cluster
on conflict (output, cluster) do update set
  ready = case when arrival.ready <= excluded.ready or excluded.ready is null then arrival.ready else excluded.ready end,
  failed = case when arrival.failed <= excluded.failed or excluded.failed is null then arrival.failed else excluded.failed end
where excluded.ready < coalesce(arrival.ready, excluded.ready + 1) or excluded.failed < coalesce(arrival.failed, excluded.failed + 1)
