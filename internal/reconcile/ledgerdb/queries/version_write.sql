insert into version(repo, sha, path, version, build, source_sha, built) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (repo, sha, path) do update set version = excluded.version, build = excluded.build, source_sha = excluded.source_sha, built = excluded.built
