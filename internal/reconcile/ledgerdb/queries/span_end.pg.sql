update span set until = nullif(given.until, 0)
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as given(object, since, until)
where span.object = given.object and span.since = given.since
