delete from span using unnest($1::bigint[], $2::bigint[]) as given(object, since)
where span.object = given.object and span.since = given.since
