-- The last plans of Terraform objects that clusters sent.
create table plan(
  id text primary key,
  cluster text not null,
  namespace text not null,
  object text not null,
  received integer not null,       -- Unix nanoseconds
  content text not null            -- JSON
);
create index plan_of_object on plan(cluster, namespace, object, received);
create index plan_by_received on plan(received);
