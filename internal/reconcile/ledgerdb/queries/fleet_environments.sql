select name from environment order by rank, id
