insert into object_uid(object, uid, other, changed, contested) values ($1, $2, $3, $4, $5)
on conflict (object) do update set uid = excluded.uid, other = excluded.other, changed = excluded.changed, contested = excluded.contested
