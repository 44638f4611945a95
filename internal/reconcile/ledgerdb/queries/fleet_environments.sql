select name from environment order by id
