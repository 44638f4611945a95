delete from state where object = $1
