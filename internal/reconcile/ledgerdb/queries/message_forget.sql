-- Deletes a message that nothing has said but what was deleted.
delete from message
where id = $1
  and not exists (select 1 from span where span.message = $1)
  and not exists (select 1 from state where state.message = $1)
  and not exists (select 1 from evidence where evidence.message = $1)
