"""A folder of Markdown notes as people keep them, made by a seed: aliases, tags and dates in front matter and text."""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

__all__ = ["Question", "write_notes"]

#: On each line a title; an alias; what the note says; the same asked in other words.
TOPICS = Path(__file__).with_name("topics.txt")
GROUPS = ("Roof committee", "Choir board", "Reading circle", "Parents' council", "Harbour club", "Seed library")
PLACES = ("the kitchen", "the town hall", "Karin's flat", "the boat house", "the school", "the café")
DECIDED = (
    "The budget was approved with two votes against.", "A new treasurer was chosen.", "We ordered more chairs.",
    "The summer party moves to the meadow.", "Nobody wanted to write the newsletter.", "The key goes to Hassan.",
    "The fee stays as it is.", "The offer of the carpenter was too high.", "The next speaker comes from Ghent.",
    "The old projector is given away.", "Membership cards will be printed again.", "The contract was renewed.",
)  # fmt: skip
TAGS = ("boat", "garden", "office", "kitchen", "school", "travel", "health", "music")
THINGS = ("pump", "key", "battery", "lamp", "list", "paint", "rope", "folder", "filter", "ticket")
DONE = (
    "The {} arrived damaged and went back.", "Looked for the {} all morning.", "A cheaper {} would do as well.",
    "Lent the {} to Miriam until Sunday.", "The {} has to be replaced before winter.", "Found the {} behind the shelf.",
)  # fmt: skip
DAILY = (
    "Slept badly, much rain.", "Long call with Teo about nothing in particular.", "Cleaned the windows.",
    "Read forty pages and fell asleep.", "Lunch with the new colleague.", "The tram was late again.",
    "Bought stamps and string.", "Fog until noon, then sun.", "Wrote to the landlord.", "Fixed a puncture.",
)  # fmt: skip
MONTHS = calendar.month_name[1:]
ALIAS, PARAPHRASE, TAG, MONTH = "alias", "paraphrase", "tag and word", "month in words"
DAYS, MEETINGS, FEWEST_YEAR = 120, 14, 2012


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of what kind, and the path of the note that answers it."""

    kind: str
    text: str
    note: str


def write_notes(folder: Path, seed: int) -> list[Question]:
    """Write the notes into an empty or missing folder, or once more into their own; the questions they answer."""
    choice = random.Random(seed)
    asked = [*_topics(folder, choice), *_tagged(folder, choice), *_meetings(folder, choice)]
    for day in _days(choice, DAYS):
        _write(folder, f"daily/{day}.md", {"tags": [choice.choice(TAGS)]}, choice.sample(DAILY, 4))
    return asked


def _topics(folder: Path, choice: random.Random) -> Iterator[Question]:
    for line in TOPICS.read_text("utf-8").splitlines():
        title, alias, said, asked = line.split("; ")
        note = f"topics/{title}.md"
        front = {"aliases": [alias], "tags": [choice.choice(TAGS)], "created": str(_days(choice, 1)[0])}
        body = [*choice.sample(DAILY, 2), said, choice.choice(DONE).format(choice.choice(THINGS))]
        choice.shuffle(body)
        _write(folder, note, front, body)
        yield Question(ALIAS, alias, note)
        yield Question(PARAPHRASE, asked, note)


def _tagged(folder: Path, choice: random.Random) -> Iterator[Question]:
    """Write a note for each of many pairs of a tag and a thing; every other tag stands in the text, as `#boat`."""
    pairs = choice.sample([(tag, thing) for tag in TAGS for thing in THINGS], 60)
    for number, (tag, thing) in enumerate(pairs):
        note = f"things/{number + 1:03} {choice.choice(('Errand', 'Remark', 'To do', 'Idea'))}.md"
        body = [choice.choice(DONE).format(thing), choice.choice(DAILY), *([f"#{tag}"] if number % 2 else [])]
        _write(folder, note, {} if number % 2 else {"tags": [tag]}, body)
        yield Question(TAG, f"{tag} {thing}", note)


def _meetings(folder: Path, choice: random.Random) -> Iterator[Question]:
    """Write the minutes of groups that meet in many months; their date stands in front matter, name or text."""
    for group in GROUPS:
        for number, day in enumerate(_days(choice, MEETINGS)):
            words = f"{day.day} {MONTHS[day.month - 1]} {day.year}"
            held, place = f"Minutes of the {group}, in {choice.choice(PLACES)}.", number % 4
            body = [held, *choice.sample(DECIDED, 3), *([f"Held on {words}."] if place == 3 else [])]
            name = f"{day} {group}" if place == 2 else f"{group} {number + 1}"
            note = f"meetings/{name}.md"
            _write(folder, note, {"date": str(day)} if place < 2 else {}, body)
            yield Question(MONTH, _month_asked(group, day, choice), note)


def _month_asked(group: str, day: date, choice: random.Random) -> str:
    month = MONTHS[day.month - 1]
    return choice.choice((
        f"what did the {group.lower()} decide in {month} {day.year}", f"{group} {month} {day.year}",
        f"minutes of the {group.lower()}, {month[:3]} {day.year}", f"{group.lower()} {day.year}-{day.month:02}",
    ))  # fmt: skip


def _days(choice: random.Random, count: int) -> list[date]:
    """Return so many days, no two in the same month."""
    months = choice.sample(range(12 * 10), min(count, 120))
    return [date(FEWEST_YEAR + each // 12, each % 12 + 1, choice.randint(1, 28)) for each in months]


def _write(folder: Path, note: str, front: Mapping[str, Sequence[str]], body: Sequence[str]) -> None:
    path = folder / note
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{key}: {value if isinstance(value, str) else '[' + ', '.join(value) + ']'}" for key, value in front.items()
    ]
    head = "---\n{}\n---\n\n".format("\n".join(lines)) if lines else ""
    path.write_text(head + "\n\n".join(body) + "\n", "utf-8")
