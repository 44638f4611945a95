-- Output b changes both cluster types of prod, and c changes large alone.
insert into environment(id, name, repo, branch, folder) values
  (1, 'stage', 'https://git.example.com/gitops', 'stage', '.'), (2, 'prod', 'https://git.example.com/gitops', 'prod', 'clusters');
insert into cluster_type(id, environment, name, expected) values (1, 1, 'large', null), (2, 2, 'large', 9), (3, 2, 'small', null);
insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values
  (1, 1, 1, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '', '', null, 1795431600),
  (2, 2, 1, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '', '', null, 1795431600),
  (3, 2, 2, 1, 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', '0000000000000000000000000000000000000002', '', 1795433400, 1795435200),
  (4, 2, 3, 1, 'cccccccccccccccccccccccccccccccccccccccc', '0000000000000000000000000000000000000003', '', 1795435200, 1795437000);
insert into desired_type(cluster_type, from_seq, to_seq, folder) values
  (1, 1, null, '10'), (2, 1, 2, '21'), (2, 2, 3, '22'), (2, 3, null, '23'), (3, 1, 2, '31'), (3, 2, null, '32');
insert into assignment(id, cluster_type, target) values (7, 3, 'retired'), (1, 1, 'checkout'), (2, 2, 'checkout'), (3, 3, 'checkout'), (4, 1, 'payments'), (5, 2, 'payments'), (6, 2, 'search');
insert into reconciler_file(id, digest) values (4, 'four'), (1, 'one'), (2, 'two'), (3, 'three');
insert into part(file, object, repo, ref, path) values
  (4, 'Kustomization/flux-system/retired', 'https://git.example.com/retired', 'main', 'deploy'),
  (1, 'Kustomization/flux-system/checkout-api', 'https://git.example.com/checkout', 'main', 'deploy'),
  (2, 'HelmRelease/shop/payments', 'https://charts.example.com', '2.x', 'payments'), (3, 'Kustomization/flux-system/search', 'https://git.example.com/search', 'main', 'deploy');
-- Output c takes payments from prod, and adds search.
insert into desired(assignment, from_seq, to_seq, file) values (1, 1, null, 1), (2, 1, null, 1), (3, 1, null, 1), (4, 1, null, 2), (5, 1, 3, 2), (6, 3, null, 3), (7, 2, 3, 4);
insert into version(repo, sha, path, version, build, source_sha, built) values
  ('https://git.example.com/checkout', '1111111111111111111111111111111111111111', 'deploy', '1.4.1', '', '', null),
  ('https://git.example.com/checkout', '2222222222222222222222222222222222222222', 'deploy', '1.4.2', '', '', null);
