-- Since when there is no such environment any more; null if there is.
alter table environment add column gone bigint;
