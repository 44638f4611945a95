delete from refusal where day = $1
