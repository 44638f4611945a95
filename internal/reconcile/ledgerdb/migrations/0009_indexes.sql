-- No question is answered by these, and each change of an object had to change them.
drop index state_bad;
drop index state_by_revision;
drop index span_by_revision;
