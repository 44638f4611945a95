select name, coalesce(gone, 0) from environment
