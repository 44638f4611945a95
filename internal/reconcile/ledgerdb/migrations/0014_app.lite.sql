-- The version of the application in the chart that runs, among the revisions; null if none is known.
alter table state add column app integer;
alter table span add column app integer;
