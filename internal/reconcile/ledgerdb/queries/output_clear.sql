delete from output
