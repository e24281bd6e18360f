-- The store of oraclepack, version 1. All times are the server's.

create table schema_version (
    version integer primary key,
    installed timestamptz not null default clock_timestamp()
);

-- One row per command that works with the store.
create table runner (
    id text primary key,
    host text not null,
    boot text not null,
    namespace text not null default '',
    pid integer not null,
    start_time text not null,
    version text not null,
    fingerprint text not null default '',
    owner name not null default session_user,
    started timestamptz not null default clock_timestamp(),
    lease_until timestamptz not null,
    stop boolean not null default false,
    ended timestamptz,
    buried timestamptz,
    buried_by text,
    buried_why text
);

create function runner_is_alive(wanted text) returns boolean language sql stable as $$
    select exists (
        select 1 from runner
        where id = wanted and ended is null and buried is null and lease_until > clock_timestamp()
    )
$$;

-- The right to ask one question. `held`: nothing is paid for, and the holder's lease may end it.
-- `asking`: a tool was started; only an answer, a known end or a verdict ends it.
create sequence claim_token;
create table claim (
    key text primary key,
    token bigint not null,
    holder text references runner (id),
    state text not null check (state in ('held', 'asking')),
    asker text references runner (id),
    intent jsonb,
    remote_id text,
    asked timestamptz,
    tries integer not null default 0,
    owner name not null default session_user
);
create index claim_holder on claim (holder);

-- Why a question was asked again although an earlier call of it had no known end.
create table verdict (
    id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    key text not null,
    asker text,
    decided text not null,
    by_whom text not null,
    why text not null,
    intent jsonb
);

-- Verified answers. The first one of a generation stays; a refresh begins the next generation.
create table answer (
    key text not null,
    generation integer not null default 1,
    sha256 text not null,
    bytes bigint not null,
    data bytea not null,
    entry jsonb not null,
    runner text,
    token bigint,
    stored timestamptz not null default clock_timestamp(),
    primary key (key, generation)
);

-- Limits for everyone; what a runner is configured with may only be stricter.
create table provider (
    name text primary key,
    max_in_flight integer check (max_in_flight > 0),
    per_minute integer check (per_minute > 0)
);

create table slot (
    id bigint generated always as identity primary key,
    provider text not null,
    runner text not null references runner (id),
    taken timestamptz not null default clock_timestamp(),
    until timestamptz not null,
    owner name not null default session_user
);
create index slot_provider on slot (provider);

create table request_start (
    provider text not null,
    at timestamptz not null default clock_timestamp()
);
create index request_start_provider on request_start (provider, at);

-- Whoever has a login of their own can change only what is theirs, and what the dead have left.
alter table runner enable row level security;
create policy runner_read on runner for select using (true);
create policy runner_insert on runner for insert with check (owner = session_user);
create policy runner_change on runner for update using (owner = session_user);

alter table claim enable row level security;
create policy claim_read on claim for select using (true);
create policy claim_insert on claim for insert with check (owner = session_user);
create policy claim_change on claim for update
    using (owner = session_user or holder is null or not runner_is_alive(holder))
    with check (owner = session_user);
create policy claim_delete on claim for delete using (owner = session_user);

alter table slot enable row level security;
create policy slot_read on slot for select using (true);
create policy slot_insert on slot for insert with check (owner = session_user);
create policy slot_delete on slot for delete
    using (owner = session_user or not runner_is_alive(runner));

-- What calls cost and have reserved, as one text with a checksum: `calls/budget.py` has the rules.
create table budget_ledger (
    id integer primary key default 1 check (id = 1),
    content text not null
);

-- Fleets: one row per pack of a repository at a commit. The source says what is run; nothing in it
-- is secret.
create sequence job_token;
create table job (
    id text not null,
    fleet text not null,
    number bigint generated always as identity,
    commit_id text not null,
    source jsonb not null,
    state text not null default 'queued'
        check (state in ('queued', 'running', 'done', 'failed', 'undecided', 'stopped')),
    token bigint not null default 0,
    runner text references runner (id),
    host text,
    takes integer not null default 0,
    exit_code integer,
    summary jsonb not null default '{}',
    run_dir text,
    archive bytea,
    changed timestamptz not null default clock_timestamp(),
    primary key (fleet, id)
);

create table fleet_request (
    fleet text primary key,
    stop boolean not null default false,
    asked_by text not null,
    at timestamptz not null default clock_timestamp()
);
