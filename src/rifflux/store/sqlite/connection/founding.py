"""The migrations of an index that nobody shares: the tables as they were before rows had owners.

What a later migration makes again is not made here: all of them run in one transaction.
"""

from __future__ import annotations

from string import ascii_letters, digits, printable

__all__ = ["DOCUMENT", "EVENTS", "FILE", "FIRST", "LOG", "REGISTER", "TERMS", "WORKS"]

# Terms arrive ready-made and separated by spaces: every other printable ASCII character belongs to them. Quotes never
# occur in terms, so they may stay separators and need no escaping here.
_TERM_CHARACTERS = "".join(c for c in printable.strip() if c not in ascii_letters + digits + "'\"")

TERMS = f"""
    title, headings, body,
    content = '', contentless_delete = 1,
    tokenize = "ascii tokenchars '{_TERM_CHARACTERS}'"
"""

#: Columns of tables that were made again with an owner.
FILE = """
    root text not null,
    path text not null,
    size integer not null,
    mtime_ns integer not null,
    hash text not null,
    problem text"""
DOCUMENT = """
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
    licence text"""

FIRST = f"""
create table setting (
    name text primary key,
    value text not null
) without rowid;

create table file (
    id integer primary key,
    {FILE},
    unique (root, path)
);

create table document (
    id integer primary key,
    {DOCUMENT},
    unique (collection, key)
);

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

create virtual table chunk_terms using fts5 ({TERMS});

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
create index vector_chunk on vector (chunk);

create table link (
    document integer not null references document (id) on delete cascade,
    key text not null,
    kind text not null,
    confidence real not null,
    primary key (document, key, kind)
) without rowid;
create index link_key on link (key);

insert into setting values ('generation', '0');
"""

# An event names its document by key and not by row: a judgement outlives the document's removal and return.
EVENTS = """
create table event (
    id integer primary key,
    time real not null,
    kind text not null,
    query text not null,
    collection text not null,
    key text not null,
    chunk text not null,
    grade integer,
    user text not null
);
"""

# What files derived from the database need to follow it (see `derived`): which there are, with the last entry of the
# log that each covers, and the log itself. Without a derived file nothing is logged; nor are vectors of a model that is
# not in use, since they change nothing that is found.
LOG = """
create table derived (
    name text primary key,
    covered integer not null,
    token text not null
) without rowid;

create table touched (
    seq integer primary key autoincrement,
    chunk integer not null,
    what text not null
);

create trigger vector_put_logged after insert on vector
when exists (select 1 from derived where name = 'vectors')
    and new.model = (select id from model where state = 'active')
begin insert into touched (chunk, what) values (new.chunk, 'vectors'); end;

create trigger vector_dropped_logged after delete on vector
when exists (select 1 from derived where name = 'vectors')
    and old.model = (select id from model where state = 'active')
begin insert into touched (chunk, what) values (old.chunk, 'vectors'); end;

-- The highest row that a chunk was dropped from: rows are never given to another chunk.
insert into setting values ('last_dropped_chunk', '0');
create trigger chunk_row_retired after delete on chunk begin
    update setting set value = max(cast(value as integer), old.id) where name = 'last_dropped_chunk';
end;
"""

# Links name their target as `scheme:value`, so identifiers are looked up by that. Two documents may claim one
# identifier: sources are wrong at times, and whether they are one work is for the importer to say.
WORKS = """
create table identifier (
    document integer not null references document (id) on delete cascade,
    scheme text not null,
    value text not null,
    primary key (document, scheme, value)
) without rowid;
create index identifier_name on identifier (scheme || ':' || value);

create table tag (
    document integer not null references document (id) on delete cascade,
    scheme text not null,
    value text not null,
    primary key (document, scheme, value)
) without rowid;
create index tag_value on tag (scheme, value);

create table part (
    document integer not null references document (id) on delete cascade,
    position integer not null,
    kind text not null,
    headings text not null,
    label text not null,
    span_start integer not null,
    span_end integer not null,
    primary key (document, position)
) without rowid;
"""

# Who may ask over the network, and what the calls of models cost. Of a token only the digest of its secret is kept.
REGISTER = """
create table token (
    id text primary key,
    user text not null,
    role text not null,
    label text not null,
    created_at real not null,
    used_at real,
    revoked_at real,
    digest blob not null
) without rowid;

create table usage (
    id integer primary key,
    user text not null,
    feature text not null,
    model text not null,
    tokens integer not null,
    cost real not null,
    time real not null
);
create index usage_user on usage (user, time);
create index usage_time on usage (time);
"""
