"""The tables, as a list of migrations: entry n brings a database from version n to n + 1."""

from rifflux.store.sqlite.connection.founding import DOCUMENT, EVENTS, FILE, FIRST, LOG, REGISTER, TERMS, WORKS

__all__ = ["APPLICATION_ID", "MIGRATIONS", "SCHEMA_VERSION"]

#: Written into the file's header, so that a database of something else is recognised: "RFLX".
APPLICATION_ID = 0x52464C58

# Who the rows belong to. Owner 0, of the empty name, is who uses an index alone. Numbers are never used again, because
# they are part of the terms: those of all other owners live in a table of their own, each with its owner's number in
# front, so that nobody's posting lists and statistics hold what is another's. Tables whose keys change are rebuilt.
_OWNERS = f"""
create table owner (
    id integer primary key autoincrement,
    name text not null unique,
    generation integer not null default 0
);
insert into owner (id, name) values (0, '');

create table owner_setting (
    owner integer not null references owner (id) on delete cascade,
    name text not null,
    value text not null,
    primary key (owner, name)
) without rowid;

create table new_file (
    id integer primary key,
    owner integer not null references owner (id),
    {FILE},
    unique (owner, root, path)
);
insert into new_file select id, 0, root, path, size, mtime_ns, hash, problem from file;
drop table file;
alter table new_file rename to file;

create table new_document (
    id integer primary key,
    owner integer not null references owner (id),
    {DOCUMENT},
    unique (owner, collection, key)
);
insert into new_document
select id, 0, collection, key, file, path, kind, title, created_at, updated_at, time, metadata, licence from document;
drop table document;
alter table new_document rename to document;
create index document_file on document (file);
create index document_key on document (owner, key);
create index document_path on document (owner, path);
create index document_time on document (owner, time);

-- The owner of the document, once more: counting and reading all of somebody's must not look at anybody else's rows.
-- length is the number of terms in all fields; 0 for chunks of owner 0 that were made before it was kept.
alter table chunk add column owner integer not null default 0;
alter table chunk add column length integer not null default 0;
alter table vector add column owner integer not null default 0;
create index vector_owner on vector (owner, model);
drop index if exists vector_hash;
create index vector_hash on vector (owner, hash);

alter table event add column owner integer not null default 0;
drop index if exists event_kind;
create index event_kind on event (owner, kind);

create virtual table owned_terms using fts5 ({TERMS});
drop trigger if exists chunk_gone;
create trigger chunk_gone after delete on chunk begin
    delete from chunk_terms where rowid = old.id;
    delete from owned_terms where rowid = old.id;
end;
"""

# What each of several sources says of a document: a source that is read again replaces what it said, and no more.
_RECORDS = """
create table record (
    document integer not null references document (id) on delete cascade,
    name text not null,
    data text not null,
    unique (document, name)
);
"""

# The word index next to the database (see `words`) holds the chunks of owner 0. The full-text table keeps no terms by
# chunk, so those of chunks that it does not cover yet wait here. What its filters ask for is logged too.
_FRESH_TERMS = """
create table fresh_terms (
    chunk integer primary key references chunk (id) on delete cascade,
    title text not null,
    headings text not null,
    body text not null
);

create index touched_what on touched (what, seq, chunk);
"""

# What is embedded of a message is not what its words are: a change of one must not cost the other. `embedded` is null
# where it is made of title, headings and text, `words` is a hash of the terms, null where `hash` stands for them too.
_MESSAGES = """
alter table chunk add column embedded text;
alter table chunk add column words integer;

-- What has no date comes last.
create index document_order on document (owner, collection, coalesce(time, 9e18), id);
"""

# How often a document was recalled. Apart from it, since counting changes nothing of what is found.
_USES = """
create table document_use (
    document integer primary key references document (id) on delete cascade,
    uses integer not null,
    used_at real not null
);
"""

# The different terms of short titles, sorted, for finding documents by their whole title.
_TITLE_TERMS = """
alter table document add column title_terms text;
create virtual table temp.title_term using fts5vocab(main, chunk_terms, instance);
update document set title_terms = named.terms
from (
    select document, group_concat(term, ' ') as terms
    from (
        select distinct chunk.document, title_term.term
        from temp.title_term join chunk on chunk.id = title_term.doc
        where title_term.col = 'title' order by chunk.document, title_term.term
    )
    group by document having count(*) <= 8
) as named
where document.id = named.document;
drop table temp.title_term;
create index document_title_terms on document (owner, title_terms) where title_terms is not null;
"""

# Every owner may have a word index next to the database, and each follows a log of its own.
_WORDS_BY_OWNER = """
drop trigger if exists chunk_put_logged;
create trigger chunk_put_logged after insert on chunk begin
    insert into touched (chunk, what)
    select new.id, name from derived where name = iif(new.owner, 'words-' || new.owner, 'words');
end;

drop trigger if exists chunk_changed_logged;
create trigger chunk_changed_logged after update of words on chunk
when coalesce(old.words, old.hash) <> coalesce(new.words, new.hash) begin
    insert into touched (chunk, what)
    select new.id, name from derived where name = iif(new.owner, 'words-' || new.owner, 'words');
end;

drop trigger if exists chunk_dropped_logged;
create trigger chunk_dropped_logged after delete on chunk begin
    insert into touched (chunk, what)
    select old.id, name from derived where name = iif(old.owner, 'words-' || old.owner, 'words');
end;

drop trigger if exists document_changed_logged;
create trigger document_changed_logged after update of path, kind, time, metadata on document
when (old.path, old.kind, old.time, old.metadata) is not (new.path, new.kind, new.time, new.metadata) begin
    insert into touched (chunk, what)
    select chunk.id, name from derived join chunk on chunk.document = new.id
    where name = iif(new.owner, 'words-' || new.owner, 'words');
end;
"""

# That somebody asked something of the service, for measures by day: a digest of the words, never the words.
_QUESTIONS = """
create table question (
    id integer primary key,
    user text not null,
    digest blob not null,
    time real not null
);
create index question_time on question (time);
"""

# What a search reads of the chunks that it ranks, an owner's together: in the table they lie between everybody's, and
# each would be read from a page of its own.
_CHUNK_IDS = """
drop index if exists chunk_owner;
create index chunk_owner on chunk (owner, id, length, uid);
"""

MIGRATIONS: tuple[str, ...] = (
    FIRST,
    EVENTS,
    LOG,
    WORKS,
    REGISTER,
    _OWNERS,
    _RECORDS,
    _FRESH_TERMS,
    _MESSAGES,
    _USES,
    _TITLE_TERMS,
    _WORDS_BY_OWNER,
    _QUESTIONS,
    _CHUNK_IDS,
)
SCHEMA_VERSION = len(MIGRATIONS)
