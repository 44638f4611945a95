delete from desired where assignment = $1
