-- An environment with outputs in three of four months. Nothing is known of 10, and the arrivals of 11 are added
-- up already. 13 failed on one of two clusters, and 14 mended it; 15 was taken back by 16.
insert into environment(id, name, repo, branch, folder) values (9, 'lab', 'https://git.example.com/gitops', 'lab', '.');
insert into cluster_type(id, environment, name, expected) values (90, 9, 'large', null);
insert into output(id, environment, seq, line, sha, base, plane, authored, merged) values
  (10, 9, 1, 1, '10', '', '', 1787000000, 1787003600), (11, 9, 2, 1, '11', '', '', 1788000000, 1788003600),
  (12, 9, 3, 1, '12', '', '', 1793000000, 1793003600), (13, 9, 4, 1, '13', '', '', 1793010000, 1793013600), (14, 9, 5, 1, '14', '', '', 1793020000, 1793020600),
  (15, 9, 6, 1, '15', '', '', 1795430000, 1795431000), (16, 9, 7, 1, '16', '', '', null, 1795432000);
insert into desired_type(cluster_type, from_seq, to_seq, folder) values (90, 1, 2, 'f1'), (90, 2, 3, 'f2'), (90, 3, 4, 'f3'), (90, 4, 5, 'f4'), (90, 5, 6, 'f5'), (90, 6, 7, 'f6'), (90, 7, null, 'f5');
insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest) values
  (901, 'lab-1', 'lab-1', 'lab-1', 'lab', 'large', 'P', false, 60, 1780000000, 1795437000, '', 0, '', 0, 0, 0, ''), (902, 'lab-2', 'lab-2', 'lab-2', 'lab', 'large', 'P', false, 60, 1780000000, 1795437000, '', 0, '', 0, 0, 0, '');
insert into arrival_day(environment, sha, cluster_type, merged, clusters, ready, failed, p50, p90, p95, slowest, first_failed) values ('lab', '11', '*', 1788003600, 2, 2, 0, 60, 120, 120, 120, null);
insert into arrival(output, cluster, ready, failed) values (12, 901, 1793003660, null), (12, 902, 1793003720, null), (13, 901, 1793013660, null), (13, 902, null, 1793013900),
  (14, 901, 1793020660, null), (14, 902, 1793020900, null), (15, 901, 1795431060, null), (15, 902, 1795431120, null), (16, 901, 1795432030, null), (16, 902, 1795432060, null);
