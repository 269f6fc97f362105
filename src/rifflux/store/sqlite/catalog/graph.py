"""Identifiers, subject tags, parts and records of documents, and links followed in both directions."""

IDENTIFIED = """
select wanted.value, document.namespace, document.key, document.owner
from json_each(:names) as wanted
    cross join document on document.id in (
        select document from (
            select own.id as document, row_number() over (partition by own.owner) as number
            from identifier cross join document as own on own.id = identifier.document and +own.owner = :owner
            where identifier.scheme || ':' || identifier.value = wanted.value
        )
        where number <= :most
    )
order by 1, 2, 3"""

# A link's key is an identifier of its target, or a key of its own owner's namespace. The cross joins fix the order:
# from the few given chunks to the links, never through a whole table. The plus prevents a scan of an owner's or a
# namespace's rows.
_PLACES = """
with asked as (
    select chunk.uid, chunk.owner, document.id, document.namespace, document.key
    from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
        join document on document.id = chunk.document
)"""

# Of the edges that a statement finds, those to the first documents, each edge once.
_EDGES = f"""{_PLACES},
edge (asked, first, kind, confidence) as ("""
_FIRST_EDGES = """)
select asked, first, kind, max(confidence)
from (select *, dense_rank() over (partition by asked order by first) as place from edge)
where place <= :most group by 1, 2, 3 order by 1, 2, 3"""

LINKED_FROM = f"""{_EDGES}
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.document = asked.id
    cross join identifier on identifier.scheme || ':' || identifier.value = +link.key
    cross join chunk as first on first.document = identifier.document and first.position = 0 and first.owner = :owner
where identifier.document <> asked.id group by 1, 2, 3
union
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.document = asked.id
    cross join document as target
        on target.owner = asked.owner and target.namespace = asked.namespace and target.key = link.key
    cross join chunk as first on first.document = target.id and first.position = 0
where target.id <> asked.id group by 1, 2, 3
{_FIRST_EDGES}"""

LINKED_TO = f"""{_EDGES}
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join identifier on identifier.document = asked.id
    cross join link on link.key = identifier.scheme || ':' || identifier.value
    cross join chunk as first on first.document = link.document and first.position = 0 and first.owner = :owner
where link.document <> asked.id group by 1, 2, 3
union
select asked.uid, first.uid, link.kind, max(link.confidence)
from asked cross join link on link.key = asked.key
    join document as source
        on source.id = link.document and +source.owner = asked.owner and +source.namespace = asked.namespace
    cross join chunk as first on first.document = source.id and first.position = 0
where source.id <> asked.id group by 1, 2, 3
{_FIRST_EDGES}"""

CITATIONS = f"""{_PLACES}
select uid, count(distinct source) from (
    select asked.uid as uid, link.document as source
    from asked cross join identifier on identifier.document = asked.id
        cross join link on link.key = identifier.scheme || ':' || identifier.value
        join document as source on source.id = link.document and +source.owner = :owner
    where link.kind = :kind and link.document <> asked.id
    union
    select asked.uid, link.document
    from asked cross join link on link.key = asked.key
        join document as source
            on source.id = link.document and +source.owner = asked.owner and +source.namespace = asked.namespace
    where link.kind = :kind and link.document <> asked.id
)
group by uid"""

TAGS_OF = """
select chunk.uid, tag.scheme, tag.value
from json_each(:ids) as wanted cross join chunk on chunk.uid = wanted.value and chunk.owner = :owner
    cross join tag on tag.document = chunk.document
order by 1, 2, 3"""

RECORDS = """
select record.name, record.data from record join document on document.id = record.document
where document.owner = :owner and document.namespace = :namespace and document.key = :key order by record.name"""

DROP_RECORDS = """
delete from record where document in (select id from document where owner = ? and namespace = ? and key = ?)"""

PUT_RECORD = """
insert into record (document, name, data)
select id, ?, ? from document where owner = ? and namespace = ? and key = ?"""

# No name sorts between those that begin with "works/" and "works0". Restricted to works: what may be disclosed of each
# depends on its namespace and license.
CREDITED = """
select credit.key, credit.name, document.namespace, document.licence, document.owner, count(distinct document.id)
from json_each(:keys) as wanted
    cross join credit on credit.role = :role and credit.key = wanted.value
    join document on document.id = credit.document and +document.owner = :owner
where document.namespace glob :works
group by 1, 2, 3, 4, 5 order by 6 desc, 1, 2, 3, 4, 5 limit :most"""

FIRST_OF = """
select chunk.uid from document join chunk on chunk.document = document.id and chunk.position = 0
where document.owner = :owner and {condition}
order by document.time desc, chunk.uid limit :limit"""

PUT_IDENTIFIER = "insert or ignore into identifier values (?, ?, ?)"

PUT_TAG = "insert or ignore into tag values (?, ?, ?)"

PUT_PART = "insert into part values (?, ?, ?, ?, ?, ?, ?, ?)"
