delete from desired
