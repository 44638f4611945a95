-- The branch of an environment was rewritten behind one of its outputs, or all: which ones it has no longer.
update output set abandoned = $2
where environment = $1 and abandoned is null
  and seq > coalesce((select max(former.seq) from output former where former.environment = $1 and former.sha = $3), 0)
