update arrival set ready = case when ready < $2 then ready end, failed = case when failed < $2 then failed end
where cluster = $1 and (ready >= $2 or failed >= $2)
