select coalesce(min(day), 0) from refusal where day < $1
