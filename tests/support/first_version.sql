-- An empty index as the first version made it.
pragma application_id = 0x52464c58;
pragma user_version = 1;

create table setting (
    name text primary key,
    value text not null
) without rowid;

create table file (
    id integer primary key,
    root text not null,
    path text not null,
    size integer not null,
    mtime_ns integer not null,
    hash text not null,
    problem text,
    unique (root, path)
);

create table document (
    id integer primary key,
    collection text not null,
    key text not null,
    file integer references file (id) on delete cascade,
    path text not null,
    kind text not null,
    title text not null,
    created_at text,
    updated_at text,
    time real,
    metadata text not null default '{}',
    licence text,
    unique (collection, key)
);
create index document_file on document (file);
create index document_key on document (key);
create index document_path on document (path);
create index document_time on document (time);

create table document_text (
    document integer primary key references document (id) on delete cascade,
    text text not null
);

-- uid is the public chunk id; id stays small and grows, which is what the terms table is fast with.
create table chunk (
    id integer primary key,
    uid integer not null unique,
    document integer not null references document (id) on delete cascade,
    position integer not null,
    headings text not null,
    text text not null,
    span_start integer not null,
    span_end integer not null,
    hash integer not null
);
create index chunk_document on chunk (document, position);
create index chunk_hash on chunk (hash);

create virtual table chunk_terms using fts5 (
    title, headings, body,
    content = '', contentless_delete = 1,
    tokenize = "ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'"
);

create table model (
    id integer primary key,
    name text not null,
    backend text not null,
    dimension integer not null,
    fingerprint text not null,
    spec text not null,
    state text not null
);

create table vector (
    id integer primary key,
    model integer not null references model (id) on delete cascade,
    chunk integer not null references chunk (id) on delete cascade,
    hash integer not null,
    data blob not null,
    unique (model, chunk)
);
create index vector_hash on vector (hash);
create index vector_chunk on vector (chunk);

create table link (
    document integer not null references document (id) on delete cascade,
    key text not null,
    kind text not null,
    confidence real not null,
    primary key (document, key, kind)
) without rowid;
create index link_key on link (key);

create trigger chunk_gone after delete on chunk begin
    delete from chunk_terms where rowid = old.id;
end;

insert into setting values ('generation', '0');
