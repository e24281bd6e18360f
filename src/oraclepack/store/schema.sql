-- The store: on SQLite for one user, on PostgreSQL for a fleet. Times are seconds since 1970.

-- One row per command that works with the store.
create table runner (
    id text primary key,
    host text not null,
    boot text not null,
    namespace text not null,
    machine text not null,
    pid integer not null,
    start_time text not null,
    version text not null,
    fingerprint text not null,
    started double precision not null,
    lease_until double precision not null,
    stop boolean not null default false,
    ended double precision,
    buried double precision,
    buried_by text,
    buried_why text
);
create index runner_open on runner (host) where ended is null and buried is null;

-- The right to ask one question. `held`: nothing is paid for, and the holder's death frees it.
-- `asking`: a tool was started; only an answer, a known end or a verdict frees it.
create table claim (
    key text primary key,
    token text not null,
    holder text,
    state text not null check (state in ('held', 'asking')),
    asker text,
    intent text,
    asked double precision,
    tries integer not null default 0
);
create index claim_holder on claim (holder);
create index claim_asker on claim (asker);

-- Why a question was asked again although an earlier call of it had no known end.
create table verdict (
    at double precision not null,
    key text not null,
    asker text,
    decided text not null,
    by_whom text not null,
    why text not null,
    intent text
);
create index verdict_key on verdict (key);

-- Limits for everyone; what a runner is configured with may only be stricter.
create table provider (
    name text primary key,
    max_in_flight integer check (max_in_flight > 0),
    per_minute integer check (per_minute > 0)
);

create table slot (
    id text primary key,
    provider text not null,
    runner text not null,
    until double precision not null
);
create index slot_provider on slot (provider);
create index slot_runner on slot (runner);

create table request_start (
    provider text not null,
    at double precision not null
);
create index request_start_provider on request_start (provider, at);

-- The worst case of a call whose outcome is not known. Amounts are decimal texts.
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

-- What finished calls came to.
create table spending (
    day text not null,
    fleet text not null,
    cost text not null,
    calls bigint not null,
    tokens bigint not null,
    primary key (day, fleet)
);
