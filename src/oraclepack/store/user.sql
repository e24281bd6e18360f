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
