delete from environment
