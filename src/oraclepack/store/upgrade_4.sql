-- The store of oraclepack, version 4: a worker reports on its own jobs only.

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
