-- Whether a span was told of afterwards: when it began, nothing was heard of its cluster.
alter table span add column late integer not null default 0;
