"""Faults in the rows of an index: how they are found, and mended without losing unique data."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from rifflux.store.sqlite.connection.texts import LEFT


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that statements find and mend. `count` selects their number; `done` describes the cure."""

    what: str
    count: str
    mend: tuple[str, ...]
    done: str


_LOST_DOCUMENT = "document not in (select id from document)"
_BAD_VECTORS = """
select vector.id from vector left join chunk on chunk.id = vector.chunk left join model on model.id = vector.model
where chunk.id is null or model.id is null or vector.hash <> chunk.hash
    or length(vector.rounded) <> 4 + 2 * model.dimension"""

# All vectors of a model agree in length, and only the model's row differs.
_OTHER_DIMENSION = """(
    select min(length(rounded)) = max(length(rounded)) and max(length(rounded)) > 4
        and max(length(rounded)) <> 4 + 2 * model.dimension
    from vector where vector.model = model.id
)"""

_OTHER_TEXT = f"document_text.hash <> text_hash({LEFT})"

#: In the order of mending: later faults may rely on earlier ones being mended.
FAULTS = (
    Fault(
        "the row of the unnamed owner is missing",
        "select not exists (select 1 from owner where id = 0)",
        ("insert into owner (id, name) values (0, '')",),
        "made it anew",
    ),
    Fault(
        "the index does not count its changes",
        "select not exists (select 1 from setting where name = 'generation')",
        ("insert into setting values ('generation', cast(random() & 0xffffffff as text))",),
        "began anew",
    ),
    Fault(
        "records cannot be read",
        "select count(*) from service_record where not json_valid(value)",
        ("delete from service_record where not json_valid(value)",),
        "dropped them",
    ),
    Fault(
        "documents belong to an owner that nobody knows",
        "select count(*) from document where owner not in (select id from owner)",
        (
            "update or ignore document set owner = (select chunk.owner from chunk join owner on owner.id = chunk.owner "
            "where chunk.document = document.id limit 1) where owner not in (select id from owner) "
            "and id in (select document from chunk where owner in (select id from owner))",
            "insert into owner (id, name) select distinct owner, 'recovered-' || owner from document "
            "where owner not in (select id from owner)",
        ),
        "gave them to the owner of their chunks, or to owners named recovered-…",
    ),
    Fault(
        "chunks have lost their document",
        f"select count(*) from chunk where {_LOST_DOCUMENT}",
        (
            # New ids, since the document may come back with the same chunks.
            f"update chunk set uid = random() & 0x7fffffffffffffff where {_LOST_DOCUMENT}",
            "insert into document (id, owner, namespace, key, path, kind, title) "
            # What was its owner's stays so, and of a work without a license no text is shown, lost or found.
            "select document, min(owner), "
            "iif(document in (select document from part), 'works/recovered', 'recovered'), "
            f"'recovered-' || document, 'recovered-' || document, 'text', '' from chunk where {_LOST_DOCUMENT} "
            "group by document",
        ),
        "kept them as documents of the namespace 'recovered', works of 'works/recovered'",
    ),
    Fault(
        "documents have lost their file",
        "select count(*) from document where file is not null and file not in (select id from file)",
        ("update document set file = null where file is not null and file not in (select id from file)",),
        "kept them without it; their files are read again when their folders are next indexed",
    ),
    Fault(
        "documents have lost their text",
        "select count(*) from document where id not in (select document from document_text)",
        (
            "insert into document_text (document, hash, compressed) select id, text_hash(text), compressed(text) "
            "from (select id, "
            "coalesce((select group_concat(text, char(10, 10)) from (select text from chunk "
            "where chunk.document = document.id order by position)), '') as text "
            "from document where id not in (select document from document_text))",
            "update file set size = -1, hash = '' where id in (select file from document join document_text "
            "on document_text.document = document.id where whole and text_left(compressed, null) = '')",
        ),
        "put it together from their chunks",
    ),
    Fault(
        "documents hold another text than was stored",
        f"select count(*) from document_text where {_OTHER_TEXT}",
        (
            "update file set size = -1, hash = '' where id in (select file from document join document_text "
            f"on document_text.document = document.id where {_OTHER_TEXT})",
            # What is left of a damaged text is the text from now on.
            f"update document_text set hash = text_hash({LEFT}), compressed = compressed(text_left(compressed, null)) "
            f"where {_OTHER_TEXT}",
        ),
        "kept it as it is; their files are read when their folders are next indexed",
    ),
    Fault(
        "rows hold something other than JSON",
        "select (select count(*) from document where not json_valid(metadata)) "
        "+ (select count(*) from chunk where not json_valid(headings))",
        (
            "update document set metadata = '{}' where not json_valid(metadata)",
            "update chunk set headings = '[]' where not json_valid(headings)",
        ),
        "emptied them",
    ),
    Fault(
        "rows belong to another owner than their document",
        "select (select count(*) from chunk join document on document.id = chunk.document "
        "where chunk.owner <> document.owner) "
        "+ (select count(*) from vector join chunk on chunk.id = vector.chunk where vector.owner <> chunk.owner)",
        (
            "update chunk set owner = document.owner from document "
            "where document.id = chunk.document and chunk.owner <> document.owner",
            "update vector set owner = chunk.owner from chunk "
            "where chunk.id = vector.chunk and vector.owner <> chunk.owner",
        ),
        "gave them to the document's owner",
    ),
    Fault(
        "models have vectors of another dimension than theirs",
        f"select count(*) from model where {_OTHER_DIMENSION}",
        (
            "update model set dimension = (select (length(rounded) - 4) / 2 from vector "
            f"where vector.model = model.id limit 1) where {_OTHER_DIMENSION}",
        ),
        "gave them that of their vectors",
    ),
    Fault(
        "models are in use besides the one there can be",
        "select max(count(*) - 1, 0) from model where state = 'active'",
        (
            "update model set state = 'retired' where state = 'active' and id <> (select model.id from model "
            "left join vector on vector.model = model.id where state = 'active' group by model.id "
            "order by count(vector.id) desc, model.id limit 1)",
        ),
        "kept the one with the most vectors",
    ),
    Fault(
        "models are in a state that nobody knows",
        "select count(*) from model where state not in ('active', 'building', 'retired')",
        ("update model set state = 'retired' where state not in ('active', 'building', 'retired')",),
        "dropped them",
    ),
    Fault(
        "vectors belong to no chunk, to an older text of it, or to another model",
        f"select count(*) from ({_BAD_VECTORS})",
        (f"delete from vector where id in ({_BAD_VECTORS})",),
        "dropped them",
    ),
)

_TABLES = "select name from sqlite_master where type = 'table' order by name"


def orphans(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Return tables with rows whose parent is missing, with the condition that selects them, except rows to keep."""
    found: list[tuple[str, str]] = []
    for (table,) in connection.execute(_TABLES).fetchall():
        if table in ("chunk", "document", "vector"):
            continue
        for _, _, parent, child_column, column, *_ in connection.execute(
            f"pragma foreign_key_list({table})"
        ).fetchall():
            lost = f"{child_column} is not null and {child_column} not in (select {column or 'id'} from {parent})"
            if connection.execute(f"select exists (select 1 from {table} where {lost})").get:
                found.append((str(table), lost))
    return found
