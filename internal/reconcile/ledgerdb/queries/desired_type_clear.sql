delete from desired_type
