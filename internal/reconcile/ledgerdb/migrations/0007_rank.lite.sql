-- Where environments come in the order of promotion.
alter table environment add column rank integer not null default 0;
