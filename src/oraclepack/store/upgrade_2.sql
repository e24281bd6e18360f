-- Version 2: what holds for all jobs of a fleet.
alter table fleet_request
    add column max_cost numeric check (max_cost >= 0),
    add column unknown_after double precision check (unknown_after >= 0);
