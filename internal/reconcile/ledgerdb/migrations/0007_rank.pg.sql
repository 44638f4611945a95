-- Where environments come in the order of promotion.
alter table environment add column rank bigint not null default 0;
