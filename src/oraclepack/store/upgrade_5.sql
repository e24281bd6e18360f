-- The store of oraclepack, version 5: a machine is known by a random id, not by its host name.
-- Runners of earlier versions have none: whether their calls have ended is not known elsewhere.

alter table runner add column machine text not null default '';
