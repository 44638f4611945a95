-- Of those outputs that are no more.
delete from arrival where not exists (select 1 from output where output.id = arrival.output)
