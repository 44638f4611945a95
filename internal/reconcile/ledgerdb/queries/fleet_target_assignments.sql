select id from assignment where target = $1 order by id
