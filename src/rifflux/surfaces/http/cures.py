"""Cures as requests that a client can send; all others need an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast

from pydantic import BeforeValidator

from rifflux import Cure
from rifflux.surfaces.shared.cures import with_cure
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.surfaces.shared.shapes import NoticeShape

Report = TypeVar("Report")
_ASK = "ask an administrator"
_SEND = "send something, or ask an administrator to index or share something"

CURES: Mapping[Cure, str] = {
    Cure.INDEX: f"{_ASK} to index again",
    Cure.ADD: _SEND,
    Cure.FORGET: f"{_ASK} to index again",
    Cure.PRUNE: f"{_ASK} to bring the files back, or to forget them",
    Cure.EMBED_MESSAGES: "send POST /conversations/vectors",
    Cure.IMPORT_WORKS: f"import the works again, or {_ASK} to index again",
    Cure.REPAIR: f"{_ASK} to repair the index",
    Cure.REPAIR_FILE: f"{_ASK} to repair the index",
    Cure.SALVAGE: f"{_ASK} to repair the index",
    Cure.CHECK: f"{_ASK} to check the index",
    Cure.BUILD: f"{_ASK} to build its files, or go on without: answers are the same, but slower",
    Cure.CLOSE_FILES: f"{_ASK} to close the files to others",
    Cure.HIDE_KEYS: f"{_ASK} to close the files to others",
    Cure.INSTALL: f"{_ASK} to install it",
    Cure.UPGRADE: f"{_ASK} to upgrade the service",
    Cure.SWITCH_MODEL: f"{_ASK} to switch the index to another model, or to search with the former one",
    Cure.COPY: f"{_ASK} to copy the index",
    Cure.COPY_SHARDS: f"{_ASK} to copy the index to other shards",
    Cure.END_SWITCH: f"{_ASK} to finish or abort the switch",
    Cure.FETCH_MODEL: f"{_ASK} to fetch the model",
    Cure.SETTING: f"{_ASK} to configure it",
    Cure.POLICY: _ASK,
    Cure.OTHER_INDEX: f"{_ASK} to choose another index",
    Cure.OTHER_OR_SALVAGE: f"{_ASK} to choose another index or to repair it",
    Cure.OPEN_WRITABLE: f"{_ASK} to open it once where it can be written",
    Cure.LIST: "GET /{things} lists them",
    Cure.LIST_WORKS: "GET /documents lists them",
    Cure.NEW_TOKEN: f"{_ASK} for another",
    Cure.MAKE_USER: "POST /tokens makes a user, PUT /groups/NAME a group",
    Cure.SHARE: "ask {owner} for more",
    Cure.PUBLISH: "PUT /collections/NAME/readers/everyone shares one",
    Cure.GIVE: _SEND,
    Cure.MOVE: f"{_ASK} to move what it holds",
    Cure.UNTUNE: f"{_ASK} to tune the index again",
    Cure.JUDGE: "POST /feedback records more",
    Cure.OVERWRITE: "choose another name",
    Cure.SAVE_PACK: "send one as POST /retrieve returns it",
    Cure.FORMATS: "see POST /conversations/import at /docs",
    Cure.AS_USER: "send the token of a user",
    Cure.GIVE_TEXT: "send the text to POST /documents",
}


def noticed(notice: JsonObject) -> JsonObject:
    """Return a notice in JSON whose text says what a client can do about it."""
    if notice["cure"] is None:
        return notice
    cure = Cure(notice["cure"]).advice(CURES, notice["data"])
    return {**notice, "text": f"{notice['text']}: {cure}"}


def all_noticed(answer: JsonObject) -> JsonObject:
    """Return JSON with `noticed` applied to its lists of notices."""
    return answer | {name: [noticed(each) for each in answer[name]] for name in ("degraded", "notes") if name in answer}


def advised(report: Report) -> Report:
    """Return a report, such as `ImportReport` or `Status`, whose notices and failures say what a client can do."""
    described: Any = report
    changes: dict[str, Any] = {}
    for name in ("degraded", "notes"):
        if notices := getattr(report, name, ()):
            changes[name] = tuple(replace(each, text=with_cure(each, CURES)) for each in notices)
    for name in ("failed", "unreadable_files"):
        if failures := getattr(report, name, ()):
            changes[name] = tuple(replace(each, reason=with_cure(each, CURES)) for each in failures)
    return cast(Report, replace(described, **changes))


#: A notice in an answer.
NoticeOut = Annotated[NoticeShape, BeforeValidator(noticed)]
