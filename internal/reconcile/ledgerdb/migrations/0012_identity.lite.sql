-- How two clusters under one name are told apart, and since when one is in the place of another.
alter table cluster add column rival_object text not null default ''; -- whose uid the rival is; '' if it is that of a cluster
alter table cluster add column began integer not null default 0;         -- when the cluster before it was last in touch; 0 if there was none
-- The uids of objects, in events.
create table object_uid(
  object integer primary key,
  uid text not null,
  other text not null,             -- the one before, or that on another cluster
  changed integer not null,         -- when uid took its place
  contested integer not null      -- whether another cluster has other
);
