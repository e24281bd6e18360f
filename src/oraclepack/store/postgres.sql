-- What only the store of a fleet has: answers, jobs, and who may change what.

create table schema_version (
    version integer primary key,
    installed timestamptz not null default clock_timestamp()
);

create function unix_now() returns double precision language sql volatile as $$
    select extract(epoch from clock_timestamp())::double precision
$$;

create function runner_is_alive(wanted text) returns boolean language sql stable as $$
    select exists (
        select 1 from runner
        where id = wanted and ended is null and buried is null and lease_until > unix_now()
    )
$$;

alter table runner add column owner name not null default session_user;
alter table claim add column owner name not null default session_user;
alter table slot add column owner name not null default session_user;

-- Verified answers. The first one of a generation stays; a refresh begins the next generation.
create table answer (
    key text not null,
    generation integer not null default 1,
    sha256 text not null,
    bytes bigint not null,
    data bytea not null,
    entry jsonb not null,
    runner text,
    stored double precision not null default unix_now(),
    primary key (key, generation)
);
-- A session of the tool is looked up when the call of a killed command is adopted.
create index answer_session on answer ((entry->>'session'));

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
    at timestamptz not null default clock_timestamp(),
    max_cost numeric check (max_cost >= 0),
    unknown_after double precision check (unknown_after >= 0)
);

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

alter table job enable row level security;
create policy job_read on job for select using (true);
create policy job_insert on job for insert with check (true);
create policy job_delete on job for delete using (true);
-- A job is taken when nobody alive runs it, and then belongs to the login of its runner.
create policy job_change on job for update
    using (
        runner is null or not runner_is_alive(runner)
        or runner in (select id from runner where owner = session_user)
    )
    with check (runner is null or runner in (select id from runner where owner = session_user));

-- A claim belongs to the login that took it last.
create function own_claim() returns trigger language plpgsql as $$
begin
    new.owner := session_user;
    return new;
end
$$;
create trigger claim_owner before update on claim for each row execute function own_claim();
