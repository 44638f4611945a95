-- Other objects that apply the output than the platform object, each on a line with its folder.
alter table cluster add column others text not null default '';
