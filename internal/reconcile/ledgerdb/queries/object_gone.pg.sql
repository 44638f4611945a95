update object set gone = given.since
from unnest($1::bigint[], $2::bigint[]) as given(id, since)
where object.id = given.id
