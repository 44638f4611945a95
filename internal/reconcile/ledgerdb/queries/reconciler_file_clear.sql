delete from reconciler_file
