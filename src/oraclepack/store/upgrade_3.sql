-- The store of oraclepack, version 3: indexes for what grows with the number of calls.

-- A session of the tool is looked up when the call of a killed command is adopted.
create index answer_session on answer ((entry->>'session'));
-- The runners of a machine that have not ended, and what ended runners held.
create index runner_open on runner (host) where ended is null and buried is null;
create index slot_runner on slot (runner);
create index verdict_key on verdict (key);
