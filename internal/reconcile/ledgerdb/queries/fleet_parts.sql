-- Where what objects apply comes from.
select distinct object, repo, ref, path from part order by object
