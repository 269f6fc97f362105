"""WhatsApp's chats: dates of any locale are read as the file means them, and what nobody typed is no speech."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rifflux import Failure
from rifflux.conversations import Conversations, Message, Thread
from rifflux.conversations.importers import Tally, read
from rifflux.conversations.importers.whatsapp_dates import HEAD, Dates, Stamp
from tests.conversations.importers.exports import packed


def chat(path: Path, *lines: str, tally: Tally | None = None) -> list[Message]:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return [turn for item in read([path], tally=tally) if isinstance(item, Thread) for turn in item.messages]


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("[31.12.21, 23:59:58] Ann: hi", "2021-12-31T23:59:58"),
        ("[12/31/21, 11:59:58\u202fPM] Ann: hi", "2021-12-31T23:59:58"),
        ("12/31/21, 11:59\u202fPM - Ann: hi", "2021-12-31T23:59:00"),
        ("12/31/21, 12:05 AM - Ann: hi", "2021-12-31T00:05:00"),
        ("31/12/2021, 23:59 - Ann: hi", "2021-12-31T23:59:00"),
        ("31/12/21 23:59 - Ann: hi", "2021-12-31T23:59:00"),
        ("31/12/21, 11:59 p.\u00a0m. - Ann: hi", "2021-12-31T23:59:00"),
        ("31-12-2021 23:59 - Ann: hi", "2021-12-31T23:59:00"),
        ("2021-12-31, 23:59 - Ann: hi", "2021-12-31T23:59:00"),
        ("[2021. 12. 31. 오후 11:59:58] Ann: hi", "2021-12-31T23:59:58"),
        ("2021/12/31 下午11:59 - Ann: hi", "2021-12-31T23:59:00"),
        ("[31.12.2021 klo 23.59.58] Ann: hi", "2021-12-31T23:59:58"),
        ("\u200e[31.12.21, 23:59:58] Ann: hi", "2021-12-31T23:59:58"),
    ],
)
def test_dates_of_any_locale_are_read(tmp_path: Path, line: str, moment: str) -> None:
    (turn,) = chat(tmp_path / "chat.txt", line)
    assert (turn.label, turn.text, turn.created_at) == ("Ann", "hi", moment)


@pytest.mark.parametrize(
    ("dates", "wanted"),
    [
        (("01/02/24", "13/02/24"), "2024-02-01"),
        (("01/02/24", "02/13/24"), "2024-01-02"),
        # Nothing is above 12, but a chat goes on in time.
        (("11/01/24", "12/01/24", "01/02/24", "02/02/24"), "2024-01-11"),
        (("01/11/24", "01/12/24", "02/01/24", "02/02/24"), "2024-01-11"),
    ],
)
def test_days_and_months_are_told_apart_by_the_file_itself(tmp_path: Path, dates: tuple[str, ...], wanted: str) -> None:
    tally = Tally()
    first = chat(tmp_path / "chat.txt", *(f"{date}, 10:00 - Ann: hi" for date in dates), tally=tally)[0]
    assert first.created_at == f"{wanted}T10:00:00"
    assert not tally.notes


def test_what_the_file_leaves_open_is_told(conversations: Conversations, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    chat(path, "03/04/24, 10:00 - Ann: hi")
    report = conversations.import_files(path)
    assert [note.code for note in report.notes] == ["import.ambiguous_dates"]
    tally = Tally()
    (turn,) = chat(path, "3/4/24, 10:00 AM - Ann: hi", tally=tally)
    assert turn.created_at == "2024-03-04T10:00:00"
    assert "month first" in next(iter(tally.notes))


FORMS = {
    "%d.%m.%y, %H:%M:%S": "[{}] ",
    "%m/%d/%y, %I:%M %p": "{} - ",
    "%d/%m/%Y, %H:%M": "{} - ",
    "%Y-%m-%d, %H:%M": "{} - ",
    "%d/%m/%Y, %I:%M %p": "{} - ",
}


@given(
    st.datetimes(datetime(2012, 1, 1), datetime(2030, 1, 1)),
    st.lists(st.integers(1, 60 * 24 * 40), min_size=40, max_size=60),
    st.sampled_from(sorted(FORMS)),
)
def test_a_chat_of_any_time_and_locale_is_dated_right(begin: datetime, minutes: list[int], form: str) -> None:
    moments = [begin.replace(microsecond=0, second=0)]
    for minute in minutes:
        moments.append(moments[-1] + timedelta(minutes=minute))
    if len({moment.date() for moment in moments}) < 32:
        moments += [moments[-1] + timedelta(days=day) for day in range(1, 32)]
    found = [HEAD.match(FORMS[form].format(moment.strftime(form)) + "Ann: hi") for moment in moments]
    dates = Dates()
    for each in found:
        assert each
        dates.see(each)
    dates.settle(Tally())
    assert [dates.read(Stamp.of(each)) for each in found if each] == moments


def test_messages_of_several_lines_are_whole(tmp_path: Path) -> None:
    lines = ["13.05.24, 20:00 - Ann: List:", "", "1. oars", "12:30 coat: warm", "13.05.24, 20:01 - Bob: ok"]
    assert [turn.text for turn in chat(tmp_path / "chat.txt", *lines)] == ["List:\n\n1. oars\n12:30 coat: warm", "ok"]


@pytest.mark.parametrize(
    ("rest", "wanted", "skipped"),
    [
        ("Ann created group “Trip: Rome”", None, {"notices": 1}),
        ("Messages and calls are end-to-end encrypted. Tap to learn more.", None, {"notices": 1}),
        ("Ferry: \u200eMessages and calls are end-to-end encrypted.", None, "pictures"),
        ("Ann: <Media omitted>", None, "pictures"),
        ("Ann: <Medien ausgeschlossen>", None, "pictures"),
        ("Ann: \u200eimage omitted", None, "pictures"),
        ("Ann: <Media omitted>\nThe weir", "The weir", "pictures"),
        ("Ann: \u200eThis message was deleted.", None, {"deleted messages": 1}),
        ("Ann: Diese Nachricht wurde gelöscht.", None, {"deleted messages": 1}),
        ("Ann: IMG-20240513-WA0001.jpg (file attached)", "[file: IMG-20240513-WA0001.jpg]", {}),
        ("Ann: \u200eIMG-1.jpg (Datei angehängt)\nThe weir", "The weir\n[file: IMG-1.jpg]", {}),
        ("Ann: \u200e<Anhang: 0004-PHOTO.jpg>", "[file: 0004-PHOTO.jpg]", {}),
        ("Ann: corrected \u200e<This message was edited>", "corrected", {}),
        ("Ann: a <- b", "a <- b", {}),
        ("~\u202fAnn: see https://x.org", "see https://x.org", {}),
    ],
)
def test_what_nobody_typed_is_left_out_and_counted(
    tmp_path: Path, rest: str, wanted: str | None, skipped: dict[str, int] | str
) -> None:
    tally = Tally()
    found = chat(tmp_path / "chat.txt", f"13.05.24, 20:00 - {rest}", tally=tally)
    assert [(turn.label, turn.text) for turn in found] == ([("Ann", wanted)] if wanted else [])
    assert next(iter(tally.skipped)).startswith(skipped) if isinstance(skipped, str) else tally.skipped == skipped


@pytest.mark.parametrize(
    ("name", "inside", "title"),
    [
        ("WhatsApp Chat - Ferry.zip", "_chat.txt", "Ferry"),
        ("WhatsApp Chat with Ann Lee (1).zip", "WhatsApp Chat with Ann Lee.txt", "Ann Lee"),
        ("WhatsApp Chat - \u200eFerry.zip", "_chat.txt", "Ferry"),
        ("WhatsApp-Chat mit Bob.zip", "WhatsApp-Chat mit Bob.txt", "Bob"),
    ],
)
def test_a_chat_is_called_as_its_file(tmp_path: Path, name: str, inside: str, title: str) -> None:
    path = packed(tmp_path / name, {inside: "13.05.24, 20:00 - Ann: hi\n", "IMG-1.jpg": "x"})
    (thread,) = read([path])
    assert isinstance(thread, Thread)
    assert (thread.conversation.title, thread.conversation.id) == (title, f"whatsapp-{title}")


def test_a_later_export_adds_what_is_new(conversations: Conversations, tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat with Ann.txt"
    lines = ["13.05.24, 20:00 - Ann: hi", "13.05.24, 20:00 - Ann: hi", "13.05.24, 20:01 - Bob: hi"]
    path.write_text("\n".join(lines))
    assert conversations.import_files(path).added == 3
    # What is oldest is left out of long exports.
    path.write_text("\n".join([*lines[2:], "14.05.24, 08:00 - Ann: ready?"]))
    later = conversations.import_files(path)
    assert (later.added, later.unchanged, later.removed) == (1, 1, 0)


def test_a_date_that_is_none_leaves_the_message(tmp_path: Path) -> None:
    tally = Tally()
    found = chat(tmp_path / "chat.txt", "13.05.24, 20:00 - Ann: hi", "31.02.24, 20:00 - Ann: ho", tally=tally)
    assert [(turn.text, turn.created_at is None) for turn in found] == [("hi", False), ("ho", True)]
    assert tally.undated == 1
    assert not [item for item in read([tmp_path / "chat.txt"]) if isinstance(item, Failure)]
