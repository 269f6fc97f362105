"""The statements of the SQLite store, whole and named."""

MATCH = """
select chunk.uid, found.score
from (
    select rowid, bm25(chunk_terms, :title, :headings, :body) as score
    from chunk_terms where chunk_terms match :terms {narrowed}
    order by score limit :limit
) as found
join chunk on chunk.id = found.rowid
order by found.score, chunk.uid"""

MATCH_AMONG = """
select chunk.uid, found.score
from (
    select rowid, bm25(chunk_terms, :title, :headings, :body) as score
    from chunk_terms where chunk_terms match :terms {narrowed}
    and +rowid in (select id from chunk where uid in (select value from json_each(:ids)))
) as found
join chunk on chunk.id = found.rowid
order by found.score, chunk.uid limit 1"""

MATCHED_BEFORE = """
select count(*)
from (
    select rowid, bm25(chunk_terms, :title, :headings, :body) as score
    from chunk_terms where chunk_terms match :terms {narrowed}
) as found
where found.score < :best
or found.score = :best and (select chunk.uid from chunk where chunk.id = found.rowid) < :id"""

ALLOWED = "select chunk.id from chunk join document on document.id = chunk.document where {condition}"

KINDS = """
select chunk.uid, document.kind from chunk join document on document.id = chunk.document
where chunk.uid in (select value from json_each(?))"""

NAMES = """
select chunk.uid, document.title, chunk.headings from chunk join document on document.id = chunk.document
where chunk.uid in (select value from json_each(?))"""

PASSING = """
select chunk.uid from chunk join document on document.id = chunk.document
where chunk.uid in (select value from json_each(:ids)) and {condition}"""

HOLDING = """
select chunk.uid from chunk where chunk.uid in (select value from json_each(:ids))
and chunk.id in (select rowid from chunk_terms where chunk_terms match :terms)"""

HYDRATE = """
select chunk.uid, document.key, document.path, document.title, chunk.headings, chunk.position, chunk.text,
    chunk.span_start, chunk.span_end, document.kind, document.created_at, document.updated_at, document.metadata,
    document.licence, document.collection
from chunk join document on document.id = chunk.document
where {which}"""

# Each way to name a document by its own index; `splits` are the ways to read the key as a collection and the rest. The
# plus makes SQLite look for the path, of which there are few, and not for the collection.
FIND_DOCUMENTS = """
select collection, key from document where id in (
    select id from document where key = :key
    union select id from document where path = :key
    union select id from document where collection = :key and collection like '%/' || path
    union select document.id from json_each(:splits) as split
        join document on document.collection = split.value ->> 0 and document.key = split.value ->> 1
    union select document.id from json_each(:splits) as split
        join document on +document.collection = split.value ->> 0 and document.path = split.value ->> 1
)
order by collection, key"""

DOCUMENT = """
select document.id, document.key, document_text.text, document.title, document.kind, document.created_at,
    document.updated_at, document.metadata, document.licence
from document join document_text on document_text.document = document.id
where collection = ? and key = ?"""

LINKS = "select key, kind, confidence from link where document = ? order by key, kind"

DOCUMENT_ID = "select id from document where collection = ? and key = ?"
LAST_DOCUMENT = "select coalesce(max(id), 0) from document"

NEW_DOCUMENT = """
insert into document
    (id, collection, key, file, path, kind, title, created_at, updated_at, time, metadata, licence)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

SET_DOCUMENT = """
update document set
    file = ?, path = ?, kind = ?, title = ?, created_at = ?, updated_at = ?, time = ?, metadata = ?, licence = ?
where id = ?"""

PUT_TEXT = """
insert into document_text values (?, ?) on conflict (document) do update set text = excluded.text"""

PUT_LINK = "insert or replace into link values (?, ?, ?, ?)"
DROP_LINKS = "delete from link where document = ?"

CHUNKS_HELD = "select uid, id, hash from chunk where document = ?"

PUT_CHUNK = """
insert into chunk (id, uid, document, position, headings, text, span_start, span_end, hash)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)"""

# The highest row that a chunk has or ever had.
LAST_CHUNK = """
select max(
    coalesce((select max(id) from chunk), 0),
    coalesce((select cast(value as integer) from setting where name = 'last_dropped_chunk'), 0)
)"""

MOVE_CHUNK = """
update chunk set position = ?, headings = ?, text = ?, span_start = ?, span_end = ?, hash = ? where id = ?"""

PUT_TERMS = "insert into chunk_terms (rowid, title, headings, body) values (?, ?, ?, ?)"
DROP_TERMS = "delete from chunk_terms where rowid = ?"
DROP_CHUNK = "delete from chunk where id = ?"
DROP_STALE_VECTOR = "delete from vector where chunk = ?"

PUT_FILE = """
insert into file (root, path, size, mtime_ns, hash, problem) values (?, ?, ?, ?, ?, ?)
on conflict (root, path) do update set
    size = excluded.size, mtime_ns = excluded.mtime_ns, hash = excluded.hash, problem = excluded.problem
returning id"""

FILE_ID = "select id from file where root = ? and path = ?"

HELD_BY_FILE = """
select document.collection, document.key
from document join file on file.id = document.file where file.root = ? and file.path = ?"""

DROP_DOCUMENT = "delete from document where collection = ? and key = ?"
DROP_FILE = "delete from file where root = ? and path = ?"
FILES = "select path, size, mtime_ns, hash, problem from file where root = ?"

PENDING = """
select chunk.id, chunk.uid, chunk.hash, document.title, chunk.headings, iif(chunk.span_end, chunk.text, '')
from chunk join document on document.id = chunk.document
where chunk.id > :after and not exists (
    select 1 from vector where vector.chunk = chunk.id
    and vector.model = (select id from model where state = 'active')
)
order by chunk.id limit :batch"""

PUT_VECTOR = """
insert or replace into vector (model, chunk, hash, data)
select (select id from model where state = 'active'), id, hash, ? from chunk where uid = ? and hash = ?"""

ANY_VECTOR = "select 1 from vector where model = (select id from model where state = 'active') limit 1"

TAKE_OVER_VECTOR = """
insert or ignore into vector (model, chunk, hash, data)
select model, :chunk, hash, data from vector
where hash = :hash and model = (select id from model where state = 'active') limit 1"""

VECTORS_BY_HASH = """
select hash, data from vector
where model = (select id from model where state = 'active')
and hash in (select value from json_each(?)) group by hash"""

# The cross joins keep the order: the few ids are looked up, and no table is read as a whole.
VECTORS_OF = """
select chunk.uid, vector.data
from json_each(?) as wanted cross join chunk on chunk.uid = wanted.value cross join vector
    on vector.chunk = chunk.id and vector.model = (select id from model where state = 'active')"""

ACTIVE_MODEL = "select name, backend, dimension, fingerprint, spec from model where state = 'active'"
PUT_MODEL = "insert into model (name, backend, dimension, fingerprint, spec, state) values (?, ?, ?, ?, ?, 'active')"

PUT_EVENT = """
insert into event (time, kind, query, collection, key, chunk, grade, user) values (?, ?, ?, ?, ?, ?, ?, ?)"""

EVENTS = """
select kind, query, collection, key, chunk, grade, user, time
from event where :kind is null or kind = :kind order by id"""

COUNTS = """
select
    (select count(*) from document) as documents,
    (select count(*) from chunk) as chunks,
    (select count(*) from vector where model = (select id from model where state = 'active')) as embedded_chunks,
    (select count(*) from file) as files"""

# A view of the word index by term. It is temporary, so that an index that cannot be written has it too.
TERM_COUNTS = "create virtual table if not exists temp.term_count using fts5vocab(main, chunk_terms, row)"

DOCUMENT_FREQUENCIES = """
select wanted.value, term_count.doc
from json_each(?) as wanted cross join term_count on term_count.term = wanted.value"""

VOCABULARY = """
select term, doc from term_count
where term >= :start and term < :end and length(term) between :shortest and :longest"""
