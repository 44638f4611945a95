-- Which line of the branch an output is not in any more, as the branch was rewritten; null while it is in it.
alter table output add column abandoned integer;
