delete from part
