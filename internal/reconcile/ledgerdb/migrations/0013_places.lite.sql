-- Where clusters belonged before, and until when.
create table cluster_place(
  cluster integer not null,
  until integer not null,
  environment text not null,
  cluster_type text not null,
  primary key(cluster, until)
) without rowid;
