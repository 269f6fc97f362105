"""The SQL statements of the catalog."""

from rifflux.store.catalog import Order
from rifflux.store.sqlite.connection.texts import STORED as TEXT
from rifflux.store.sqlite.filters import FOLDER
from rifflux.store.sqlite.query import DOCUMENT_FACTS

# For lookups by id, the plus prevents SQLite from scanning all rows of the owner.
_OF_CHUNKS = """
from chunk join document on document.id = chunk.document
where +chunk.owner = :owner and chunk.uid in (select value from json_each(:ids))"""

FACTS = f"select chunk.uid, chunk.headings, {DOCUMENT_FACTS} {_OF_CHUNKS}"
FORMER_FACTS = f"select {DOCUMENT_FACTS} from document where document.id = ?"

CODE_OF = f"""
select chunk.uid, document.path, chunk.headings, chunk.text, chunk.position {_OF_CHUNKS} and document.kind = 'code'"""

PASSING = f"select chunk.uid {_OF_CHUNKS} and {{condition}}"

ANY_PASSES = "select exists (select 1 from document where owner = :owner and {condition})"

HYDRATE = """
select chunk.uid, document.key, document.path, document.title, chunk.headings, chunk.position, chunk.text,
    chunk.span_start, chunk.span_end, document.kind, document.created_at, document.updated_at, document.metadata,
    document.licence, document.namespace, chunk.line, chunk.page, document.language, document.owner
from chunk join document on document.id = chunk.document
where +chunk.owner = :owner and {which}"""

# Each way to name a document by its own index; `splits` are the ways to split the name into a namespace and the rest.
# The plus makes SQLite search by path, of which there are few, rather than by namespace; cross joins fix the order.
NAMED = """+document.owner = :owner and document.id in (
    select id from document where owner = :owner and key = :name
    union select id from document where owner = :owner and path = :name
    union select id from document where owner = :owner and namespace = :name and namespace like '%/' || path
    union select document.id from json_each(:splits) as split
        cross join document on document.owner = :owner
            and document.namespace = split.value ->> 0 and document.key = split.value ->> 1
    union select document.id from json_each(:splits) as split
        cross join document on document.owner = :owner
            and +document.namespace = split.value ->> 0 and document.path = split.value ->> 1
)"""

# If a place names no owner, several owners may have a document there.
_PLACES = """
from json_each(:places) as wanted
    cross join document on document.owner = :owner
        and document.namespace = wanted.value ->> 0 and document.key = wanted.value ->> 1
        and (wanted.value ->> 2 is null or document.owner = wanted.value ->> 2)"""

# Whole documents in one statement, with their dependent rows as JSON.
DOCUMENTS_AT = f"""
select wanted.key, document.key, {TEXT}, document_text.hash, document.title, document.kind,
    document.created_at, document.updated_at, document.metadata, document.licence, document.language,
    (select json_group_array(json_array(link.key, link.kind, link.confidence) order by link.key, link.kind)
        from link where link.document = document.id),
    (select json_group_array(json_array(scheme, value) order by scheme, value)
        from identifier where identifier.document = document.id),
    (select json_group_array(json_array(scheme, value) order by scheme, value)
        from tag where tag.document = document.id),
    (select json_group_array(json_array(part.kind, span_start, span_end, headings, label, page) order by position)
        from part where part.document = document.id)
{_PLACES}
    join document_text on document_text.document = document.id
order by wanted.key, document.owner"""

# If a place names no owner, several owners may have a document there. The ids of those around each come as JSON.
AROUND = f"""
select wanted.key, document.key, {TEXT}, document.title, document.kind, document.created_at,
    document.updated_at, document.metadata, document.licence
from json_each(:places) as wanted
    cross join document as asked on asked.owner = :owner
        and asked.namespace = wanted.value ->> 0 and asked.key = wanted.value ->> 1
        and (wanted.value ->> 2 is null or asked.owner = wanted.value ->> 2)
    cross join json_each((
        select json_group_array(id) from (
            select * from (
                select other.id from document as other
                where other.owner = asked.owner and other.namespace = asked.namespace
                    and coalesce(other.time, 9e18) <= coalesce(asked.time, 9e18)
                    and (coalesce(other.time, 9e18) < coalesce(asked.time, 9e18) or other.id < asked.id)
                order by coalesce(other.time, 9e18) desc, other.id desc limit :before
            )
            union all select * from (
                select other.id from document as other
                where other.owner = asked.owner and other.namespace = asked.namespace
                    and coalesce(other.time, 9e18) >= coalesce(asked.time, 9e18)
                    and (coalesce(other.time, 9e18) > coalesce(asked.time, 9e18) or other.id >= asked.id)
                order by coalesce(other.time, 9e18), other.id limit :after + 1
            )
        )
    )) as near
    cross join document on document.id = near.value
    join document_text on document_text.document = document.id
order by wanted.key, coalesce(document.time, 9e18), document.id"""

BEARING = "(document.path like :words escape '\\' or document.title like :words escape '\\')"

_TIME = "coalesce(document.time, 9e18)"

#: The order of documents, and the condition for those that follow one, by the columns that `LISTED` begins with.
ORDERS = {
    Order.PLACE: (
        "document.namespace, document.key, document.owner",
        "(document.namespace, document.key, document.owner) > (:after_namespace, :after_key, :after_owner)",
    ),
    Order.OLDEST: (
        f"{_TIME}, document.id",
        f"{_TIME} >= :after_time and ({_TIME} > :after_time or document.id > :after_id)",
    ),
    Order.NEWEST: (
        f"{_TIME} desc, document.id desc",
        f"{_TIME} <= :after_time and ({_TIME} < :after_time or document.id < :after_id)",
    ),
}

LISTED = f"""
select document.namespace, document.key, document.owner, {_TIME}, document.id, document.path, {{text}}, document.title,
    document.kind, document.created_at, document.updated_at, document.metadata, document.licence, document.language,
    (select json_group_array(json_array(scheme, value) order by scheme, value)
        from identifier where identifier.document = document.id),
    (select count(*) from chunk where chunk.document = document.id)
from document {{join}} where {{condition}} order by {{order}} limit :limit"""

#: The columns and the join of texts in a list of documents, and those of a list without.
NO_TEXT = ("null, null", "")
WITH_TEXT = (TEXT, "join document_text on document_text.document = document.id")

# SQLite finds them by the index that begins with the owner; their order is made where they are read.
NUMBERS = "select id from document where owner = :owner and +id > :after"

STORED = """
select document.id, document.namespace, document.key, document.path, file.root, file.path, document_use.uses,
    document_use.used_at,
    (select json_group_array(json_array(name, data) order by name) from record where record.document = document.id)
from json_each(:numbers) as wanted cross join document on document.id = wanted.value and document.owner = :owner
    left join file on file.id = document.file
    left join document_use on document_use.document = document.id
order by document.id"""

CHUNKS_STORED = """
select document, uid, position, text, span_start, span_end, headings, page, hash, embedded, coalesce(words, hash),
    length
from json_each(:numbers) as wanted cross join chunk on chunk.document = wanted.value and chunk.owner = :owner
order by document, position, uid"""

NOTE_USE = """
insert into document_use select id, :number, :time from document
where owner = :owner and namespace = :namespace and key = :key
on conflict (document) do update set uses = uses + excluded.uses, used_at = max(used_at, excluded.used_at)"""

USES = """
select document.key, document_use.uses, document_use.used_at
from json_each(:keys) as wanted
    cross join document on document.owner = :owner and document.namespace = :namespace and document.key = wanted.value
    join document_use on document_use.document = document.id"""

# A document or chunk number that was found with its owner identifies rows without the owner.
DOCUMENT_ID = "select id from document where owner = ? and namespace = ? and key = ?"

LAST_DOCUMENT = "select coalesce(max(id), 0) from document"

NEW_DOCUMENT = """
insert into document
    (id, owner, namespace, key, file, path, kind, title, created_at, updated_at, time, metadata, licence, language)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

SET_DOCUMENT = """
update document set
    file = ?, path = ?, kind = ?, title = ?, created_at = ?, updated_at = ?, time = ?, metadata = ?, licence = ?,
    language = ?
where id = ?"""

PUT_TEXT = """
insert into document_text (document, hash, whole, compressed) values (?, ?, ?, ?)
on conflict (document) do update
    set hash = excluded.hash, whole = excluded.whole, compressed = excluded.compressed"""

PUT_LINK = "insert or replace into link values (?, ?, ?, ?)"

DROP_LINKS = "delete from link where document = ?"

STORED_CHUNKS = "select uid, id, hash, coalesce(words, hash) from chunk where document = ?"

PUT_CHUNK = """
insert into chunk
    (id, owner, uid, document, position, headings, text, span_start, span_end, page, line, hash, words, length,
    embedded)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

# The highest row number that a chunk has or ever had.
LAST_CHUNK = """
select max(
    coalesce((select max(id) from chunk), 0),
    coalesce((select cast(value as integer) from setting where name = 'last_dropped_chunk'), 0)
)"""

# A chunk whose names changed although its terms did not.
TOUCH_WORDS = """
insert into touched (chunk, what) select ?, 'words' where exists (select 1 from derived where name = 'words')"""

MOVE_CHUNK = """
update chunk set
    position = ?, headings = ?, text = ?, span_start = ?, span_end = ?, page = ?, line = ?, hash = ?, words = ?,
    length = ?, embedded = ?
where id = ?"""

PUT_TERMS = "insert into {table} (rowid, title, headings, body) values (?, ?, ?, ?)"

# The updates that the words file beside the database needs; without one nothing is recorded.
ANY_WORDS_FILE = "select 1 from derived where name = ?"

PUT_FRESH_TERMS = "insert or replace into fresh_terms (chunk, title, headings, body) values (?, ?, ?, ?)"

DROP_TERMS = "delete from {table} where rowid = ?"

DROP_CHUNK = "delete from chunk where id = ?"

DROP_STALE_VECTOR = "delete from vector where chunk = ?"

PUT_FILE = """
insert into file (owner, root, path, size, mtime_ns, hash, problem, problem_kind, inode, ctime_ns)
values (:owner, :root, :path, :size, :mtime_ns, :hash, :problem, :problem_kind, :inode, :ctime_ns)
on conflict (owner, root, path) do update set
    size = excluded.size, mtime_ns = excluded.mtime_ns, hash = excluded.hash, problem = excluded.problem,
    problem_kind = excluded.problem_kind, inode = excluded.inode, ctime_ns = excluded.ctime_ns
returning id"""

FILE_ID = "select id from file where owner = :owner and root = :root and path = :path"

DOCUMENTS_OF_FILE = """
select document.namespace, document.key
from document join file on file.id = document.file
where file.owner = :owner and file.root = :root and file.path = :path"""

DROP_DOCUMENT = "delete from document where owner = :owner and namespace = :namespace and key = :key"

DROP_FILE = "delete from file where owner = :owner and root = :root and path = :path"

_STATE = "path, size, mtime_ns, hash, problem, problem_kind, inode, ctime_ns"

# In the order of the index. No path sorts between those that begin with "below/" and "below0".
FILES = f"""
select {_STATE}, owner from file
where owner = :owner and root = :root and (path, owner) > (:after, :after_owner) {{below}}
order by path, owner limit :limit"""

BELOW = "and path >= :path and path < :end and (path = :path or path >= :first)"

FILE_COUNT = "select count(*) from file where owner = :owner"

ALL_FILES = f"select root, {_STATE} from file where owner = :owner order by root, path limit :number"

# A user's files are few. The number of others' files must not show in the sample.
SOME_OWN_FILES = f"select root, {_STATE} from file where owner = :owner order by random() limit :number"

# A random position in the table for each, and the file that follows it: the table is never read as a whole.
SOME_FILES = f"""
with recursive place (number, id) as (
    select 1, abs(random()) % (select max(id) from file)
    union all select number + 1, abs(random()) % (select max(id) from file) from place where number < :number
)
select distinct root, {_STATE}
from place cross join file on file.id = (select min(later.id) from file as later where later.id > place.id)
where file.owner = :owner"""

ROOTS = "select distinct root from file where owner = :owner order by root"

ANY_VECTOR = "select 1 from vector where owner = ? limit 1"

# Only from the same owner: a chunk with a vector at once would reveal that somebody else has this text. Left to itself,
# SQLite would search by model, which all the owner's vectors share.
TAKE_OVER_VECTOR = """
insert or ignore into vector (model, chunk, owner, hash, rounded)
select model, :chunk, owner, hash, rounded from vector indexed by vector_hash
where hash = :hash and owner = :owner and model in (select id from model where state in ('active', 'building'))
group by model"""

_OTHERS = """(
            exists (select 1 from {table} where owner < :owner) or exists (select 1 from {table} where owner > :owner)
        )"""

# SQLite counts a whole table ten times as fast as the rows of an owner, and mostly there is only one.
TOTALS = f"""
select
    iif(
        {_OTHERS.format(table="document")},
        (select count(*) from document where owner = :owner), (select count(*) from document)
    ) as documents,
    iif(
        {_OTHERS.format(table="chunk")},
        (select count(*) from chunk where owner = :owner), (select count(*) from chunk)
    ) as chunks,
    (select count(*) from file where owner = :owner) as files,
    iif(
        {_OTHERS.format(table="vector")} or (select count(*) from model) > 1,
        (select count(*) from vector where owner = :owner and model = (select id from model where state = 'active')),
        iif(exists (select 1 from model where state = 'active'), (select count(*) from vector), 0)
    ) as embedded,
    exists (select 1 from document where owner = :owner and namespace >= 'works/' and namespace < 'works0') as works,
    (select count(*) from document where owner = :owner and language <> '') as in_other_languages"""

_MOST = "group by 1, 2 order by 3 desc, 1, 2 limit :limit"

#: The columns whose values are counted by name.
VALUES = {
    "kind": "nullif(document.kind, '')",
    "namespace": "document.namespace",
    "folder": f"iif(instr(document.path, '/') > 1, document.namespace || '/' || {FOLDER}, null)",
}
COLUMN_VALUES = f"""
select {{value}}, 'text', count(*) from document
where document.owner = :owner and {{condition}} and {{value}} is not null
{_MOST}"""
METADATA_VALUES = f"""
select each.atom, each.type, count(distinct document.id)
from document,
    json_each(iif(json_type(metadata, :at) = 'array', metadata -> :at, json_array(metadata -> :at))) as each
where document.owner = :owner and {{condition}} and each.type in ('text', 'integer', 'real', 'true', 'false')
{_MOST}"""

#: The languages of documents that differ from the index's.
LANGUAGES = "select distinct language from document where owner = :owner and language <> ''"

PLACE = """
select coalesce(time, 9e18), id from document
where owner = :owner and namespace = :namespace and key = :key"""
