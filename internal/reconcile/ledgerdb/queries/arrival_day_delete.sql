delete from arrival_day where merged < $1
