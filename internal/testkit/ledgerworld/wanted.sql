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
