-- The branch of an environment has an output again that it had no longer, and those before it.
update output set abandoned = null
where environment = $1 and abandoned is not null
  and exists (
    select 1 from output former
    where former.environment = $1 and former.sha = $2 and former.line = output.line and former.seq >= output.seq)
