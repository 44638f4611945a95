select coalesce(min(day), 0) from phase_day where day < $1
