delete from plan where received < $1
