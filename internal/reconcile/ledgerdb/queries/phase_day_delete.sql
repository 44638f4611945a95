delete from phase_day where day = $1
