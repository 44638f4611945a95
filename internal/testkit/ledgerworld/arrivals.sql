-- What follows from the reports: see the package ledger.
insert into arrival(output, cluster, ready, failed) select 1, id, 1795432020, null from cluster where name = 'stage-1' on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 2, id, 1795431900, null from cluster where name in ('east-1', 'east-2', 'east-3', 'east-4', 'east-5', 'east-6') on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 2, id, 1795431960, null from cluster where name in ('west-1', 'west-2') on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 2, id, 1795432080, null from cluster where name = 'east-7' on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 3, id, 1795437300, null from cluster where name = 'west-1' on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 4, id, 1795437120, null from cluster where name = 'east-1' on conflict do nothing;
insert into arrival(output, cluster, ready, failed) select 4, id, null, 1795437180 from cluster where name = 'east-2' on conflict do nothing;
