delete from assignment
