"""The tables of an index, as SQL."""

from __future__ import annotations

import re
from string import ascii_letters, digits, printable

# Terms arrive analyzed and separated by spaces: every other printable ASCII character is part of them. Quotes never
# occur in terms, so they may remain separators and need no escaping here.
_TERM_CHARACTERS = "".join(c for c in printable.strip() if c not in ascii_letters + digits + "'\"")

_TERMS = f"""
    title, headings, body,
    content = '', contentless_delete = 1,
    tokenize = "ascii tokenchars '{_TERM_CHARACTERS}'"
"""

# Documents and their chunks, whose rows have owners. Owner 0, with the empty name, is the only user of a personal
# index. Numbers are never reused, because they are part of the terms: those of all other owners are in a table of their
# own, each prefixed with its owner's number, so that nobody's posting lists and statistics contain another's.
_DOCUMENTS = """
create table if not exists setting (
    name text primary key,
    value text not null
) without rowid;
-- The highest row that a chunk was dropped from: rows are never given to another chunk.
insert or ignore into setting values ('generation', '0'), ('last_dropped_chunk', '0');

create table if not exists owner (
    id integer primary key autoincrement,
    name text not null unique,
    generation integer not null default 0
);
insert or ignore into owner (id, name) values (0, '');

create table if not exists owner_setting (
    owner integer not null references owner (id) on delete cascade,
    name text not null,
    value text not null,
    primary key (owner, name)
) without rowid;

create table if not exists file (
    id integer primary key,
    owner integer not null default 0 references owner (id),
    root text not null,
    path text not null,
    size integer not null,
    mtime_ns integer not null,
    hash text not null,
    problem text,
    problem_kind text not null default '',
    inode integer not null default 0,
    ctime_ns integer not null default 0,
    unique (owner, root, path)
);

create table if not exists document (
    id integer primary key,
    owner integer not null default 0 references owner (id),
    namespace text not null,
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
    language text not null default '',
    unique (owner, namespace, key)
);
create index document_file on document (file);
create index document_key on document (owner, key);
create index document_path on document (owner, path);
create index document_kind on document (owner, kind);
create index document_time on document (owner, time);
-- What has no date comes last.
-- Most documents are in the language of the index, whose name is empty here.
create index document_language on document (owner, language) where language <> '';
create index document_order on document (owner, namespace, coalesce(time, 9e18), id);

"""

# The hash is of the whole text, which is stored as in `rifflux.store.sqlite.connection.texts`.
DOCUMENT_TEXT = """
create table if not exists document_text (
    document integer primary key references document (id) on delete cascade,
    hash integer not null,
    whole integer not null default 1,
    compressed blob not null
);
"""

_CHUNKS = f"""
-- uid is the public chunk id; id stays small and grows, which is what the terms table is fast with. The owner of the
-- document stands here once more: counting and reading all of somebody's must not look at anybody else's rows. length
-- is the number of terms in all fields.
-- What is embedded of a message is not what its words are: a change of one must not cost the other. embedded is null
-- where it is made of title, headings and text, words is a hash of the terms, null where hash stands for them too.
-- page and line are those where the chunk begins, from 1: page is null where the document has no pages, line where its
-- text is not that of its file.
create table if not exists chunk (
    id integer primary key,
    uid integer not null unique,
    document integer not null references document (id) on delete cascade,
    position integer not null,
    headings text not null,
    text text not null,
    span_start integer not null,
    span_end integer not null,
    hash integer not null,
    owner integer not null default 0,
    length integer not null default 0,
    embedded text,
    words integer,
    page integer,
    line integer
);
create index chunk_document on chunk (document, position);
-- What a search reads of the chunks that it ranks, an owner's together: in the table they lie between everybody's, and
-- each would be read from a page of its own.
create index chunk_owner on chunk (owner, id, length, uid);

create virtual table if not exists chunk_terms using fts5 ({_TERMS});
create virtual table if not exists owned_terms using fts5 ({_TERMS});

create table if not exists model (
    id integer primary key,
    name text not null,
    backend text not null,
    dimension integer not null,
    fingerprint text not null,
    spec text not null,
    state text not null
);

"""

# A vector is a scale and 16-bit integers (`rounded` in `rifflux.store.sqlite.query`).
VECTOR_TABLE = """
create table if not exists vector (
    id integer primary key,
    model integer not null references model (id) on delete cascade,
    chunk integer not null references chunk (id) on delete cascade,
    owner integer not null default 0,
    hash integer not null,
    rounded blob not null,
    unique (chunk, model)
);
create index vector_model on vector (model, owner, chunk);
create index vector_hash on vector (owner, hash);
"""

# Data that depends on documents. Links name their target as `scheme:value`, so identifiers are looked up by that. Two
# documents may claim the same identifier: sources are sometimes wrong, and the importer decides whether they are one
# work.
_WORKS = """
create table if not exists link (
    document integer not null references document (id) on delete cascade,
    key text not null,
    kind text not null,
    confidence real not null,
    primary key (document, key, kind)
) without rowid;
create index link_key on link (key);

create table if not exists identifier (
    document integer not null references document (id) on delete cascade,
    scheme text not null,
    value text not null,
    primary key (document, scheme, value)
) without rowid;
create index identifier_name on identifier (scheme || ':' || value);

create table if not exists tag (
    document integer not null references document (id) on delete cascade,
    scheme text not null,
    value text not null,
    primary key (document, scheme, value)
) without rowid;
create index tag_value on tag (scheme, value);

-- Who wrote a document and where it appeared: made of its metadata, to look up who is called so in whatever spelling.
create table if not exists credit (
    document integer not null references document (id) on delete cascade,
    role text not null,
    key text not null,
    name text not null,
    primary key (document, role, key, name)
) without rowid;
create index credit_key on credit (role, key);
create index credit_name on credit (role, name);

create table if not exists part (
    document integer not null references document (id) on delete cascade,
    position integer not null,
    kind text not null,
    headings text not null,
    label text not null,
    span_start integer not null,
    span_end integer not null,
    page integer,
    primary key (document, position)
) without rowid;

-- What each of several sources says of a document: a source that is read again replaces what it said, and no more.
create table if not exists record (
    document integer not null references document (id) on delete cascade,
    name text not null,
    data text not null,
    unique (document, name)
);

-- How often a document was recalled. Apart from it, since counting changes nothing of what is found.
create table if not exists document_use (
    document integer primary key references document (id) on delete cascade,
    uses integer not null,
    used_at real not null
);
"""

# What is kept beside documents, as JSON: tokens, collections and their readers, usage, events and the like. The columns
# are what records are selected and summed by. Numbers are never used again: a reader of pages goes on after the last
# that it saw.
RECORDS = """
create table if not exists service_record (
    id integer primary key autoincrement,
    owner integer not null default 0,
    kind text not null,
    key text not null,
    user text not null default '',
    time real not null default 0,
    amount real not null default 0,
    version integer not null default 1,
    value text not null,
    unique (owner, kind, key)
);
create index service_record_order on service_record (owner, kind);
create index service_record_user on service_record (kind, user, time);
create index service_record_time on service_record (kind, time);
"""

# The data for updating derived files (see `derived`): their names, with the last log entry that each covers, and the
# log itself. Without a derived file nothing is logged; nor are vectors of an inactive model, since they change no
# search results. The full-text tables store no terms by chunk, so those of chunks that the words file does not cover
# yet are in fresh_terms.
_LOG = """
create table if not exists derived (
    name text primary key,
    covered integer not null,
    token text not null
) without rowid;

create table if not exists touched (
    seq integer primary key autoincrement,
    chunk integer not null,
    what text not null
);
create index touched_what on touched (what, seq, chunk);

create table if not exists fresh_terms (
    chunk integer primary key references chunk (id) on delete cascade,
    title text not null,
    headings text not null,
    body text not null
);
"""

TRIGGERS = """
create trigger chunk_gone after delete on chunk begin
    delete from chunk_terms where rowid = old.id;
    delete from owned_terms where rowid = old.id;
end;

create trigger chunk_row_retired after delete on chunk begin
    update setting set value = max(cast(value as integer), old.id) where name = 'last_dropped_chunk';
end;

create trigger chunk_put_logged after insert on chunk
when exists (select 1 from derived where name = 'words')
begin insert into touched (chunk, what) values (new.id, 'words'); end;

create trigger chunk_changed_logged after update of words on chunk
when coalesce(old.words, old.hash) <> coalesce(new.words, new.hash)
    and exists (select 1 from derived where name = 'words')
begin insert into touched (chunk, what) values (new.id, 'words'); end;

create trigger chunk_dropped_logged after delete on chunk
when exists (select 1 from derived where name = 'words')
begin insert into touched (chunk, what) values (old.id, 'words'); end;

"""

VECTOR_TRIGGERS = """
create trigger vector_put_logged after insert on vector
when exists (select 1 from derived where name = 'vectors')
    and new.model = (select id from model where state = 'active')
begin insert into touched (chunk, what) values (new.chunk, 'vectors'); end;

create trigger vector_dropped_logged after delete on vector
when exists (select 1 from derived where name = 'vectors')
    and old.model = (select id from model where state = 'active')
begin insert into touched (chunk, what) values (old.chunk, 'vectors'); end;
"""

PUT_CREDIT = "insert or ignore into credit values (?, ?, ?, ?)"

SCRIPTS = (_DOCUMENTS, DOCUMENT_TEXT, _CHUNKS, VECTOR_TABLE, _WORKS, RECORDS, _LOG)
#: The names of all tables of an index.
TABLES = frozenset(re.findall(r"^create (?:virtual )?table if not exists (\w+)", "".join(SCRIPTS), re.MULTILINE))
#: The full-text tables: of the unnamed owner, and of all others.
TERM_TABLES = ("chunk_terms", "owned_terms")
