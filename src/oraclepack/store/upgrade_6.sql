-- The store of oraclepack, version 6: the tables of schema.sql, as SQLite has them too.

create function unix_now() returns double precision language sql volatile as $$
    select extract(epoch from clock_timestamp())::double precision
$$;

alter table claim drop constraint claim_holder_fkey, drop constraint claim_asker_fkey;
alter table slot drop constraint slot_runner_fkey;

alter table runner
    alter column started drop default,
    alter column started type double precision using extract(epoch from started),
    alter column lease_until type double precision using extract(epoch from lease_until),
    alter column ended type double precision using extract(epoch from ended),
    alter column buried type double precision using extract(epoch from buried);
create or replace function runner_is_alive(wanted text) returns boolean language sql stable as $$
    select exists (
        select 1 from runner
        where id = wanted and ended is null and buried is null and lease_until > unix_now()
    )
$$;

alter table claim
    alter column token type text,
    alter column intent type text,
    alter column asked type double precision using extract(epoch from asked),
    drop column remote_id;
create index claim_asker on claim (asker);
drop sequence claim_token;

alter table verdict
    drop column id,
    alter column at drop default,
    alter column at type double precision using extract(epoch from at),
    alter column intent type text;

alter table slot alter column id drop identity;
alter table slot
    alter column id type text,
    alter column until type double precision using extract(epoch from until),
    drop column taken;

alter table request_start
    alter column at drop default,
    alter column at type double precision using extract(epoch from at);

alter table answer
    drop column token,
    alter column stored drop default,
    alter column stored type double precision using extract(epoch from stored),
    alter column stored set default unix_now();

-- The budget as rows. Reservations that were never opened are dropped: their calls were not made.
create table reservation (
    name text primary key,
    runner text not null,
    run text not null,
    fleet text not null,
    day text not null,
    at text not null,
    cost text not null,
    calls bigint not null,
    tokens bigint not null,
    is_open boolean not null
);
create index reservation_runner on reservation (runner);
create table spending (
    day text not null,
    fleet text not null,
    cost text not null,
    calls bigint not null,
    tokens bigint not null,
    primary key (day, fleet)
);
insert into reservation
    select one.key, '', one.value->>'run', coalesce(one.value->>'fleet', ''), one.value->>'day',
        coalesce(one.value->>'at', ''), one.value->'worst'->>'cost',
        (one.value->'worst'->>'calls')::bigint, (one.value->'worst'->>'tokens')::bigint, true
    from budget_ledger, jsonb_each(content::jsonb->'ledger'->'reservations') as one
    where (one.value->>'is_open')::boolean;
insert into spending
    select one->>'day', coalesce(one->>'fleet', ''), sum((one->'spent'->>'cost')::numeric)::text,
        sum((one->'spent'->>'calls')::bigint), sum((one->'spent'->>'tokens')::bigint)
    from budget_ledger, jsonb_array_elements(content::jsonb->'ledger'->'sums') as one
    group by 1, 2;
drop table budget_ledger;

-- A claim belongs to the login that took it last.
create function own_claim() returns trigger language plpgsql as $$
begin
    new.owner := session_user;
    return new;
end
$$;
create trigger claim_owner before update on claim for each row execute function own_claim();
