-- What only the store of one user has.

-- Tokens that let a planned run begin, and have been used.
create table used_plan (
    nonce text primary key,
    expires double precision not null
);

-- What answers were like, for forecasts.
create table answer_figures (
    model text not null,
    output_tokens bigint not null,
    seconds double precision not null,
    input_tokens bigint,
    project text not null
);
create index answer_figures_model on answer_figures (model);

-- What files say, so that lists of them need not read them. `folder` is a MAC of its path.
create table file_index (
    folder text not null,
    name text not null,
    version text not null,
    fact blob not null,
    at double precision not null,
    primary key (folder, name)
) without rowid;
