"""LaTeX's numbers of sections and statements: counters, what resets them, and how they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rifflux.works.importers.latex.tex import argument
from rifflux.works.importers.readable import readable

#: The default environments of statements, for documents that declare none.
USUAL = (
    *("theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "conjecture", "claim"),
    *("notation", "exercise", "question", "problem", "assumption", "axiom", "fact", "observation", "construction"),
    "situation",
)
#: The depth of headings; each is counted within the one before it, but chapters run through all parts.
LEVELS = {"part": -1, "chapter": 0, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4}

_BRACED = r"\{((?:[^{}]|\{[^{}]*\})+)\}"
_NEW_THEOREM = re.compile(
    rf"\\(?:sp)?newtheorem(\*?)\s*\{{([^{{}}]+)\}}\s*(?:\[([^\[\]]+)\])?\s*{_BRACED}\s*(?:\[([^\[\]]+)\])?"
)
_OPTIONS = r"(?:\[((?:[^\[\]{}]|\{[^{}]*\}){0,500})\])?"
_DECLARE = re.compile(rf"\\declaretheorem\s*{_OPTIONS}\s*\{{([^{{}}]+)\}}\s*{_OPTIONS}")
_SETTING = re.compile(r"([\w ]+?)\s*(?:=\s*(\{[^{}]*\}|[^,{}]*))?(?:,|\Z)\s*")
_ALIAS = re.compile(r"\\newaliascnt\s*\{([^{}]+)\}\s*\{([^{}]+)\}")
_WITHIN = re.compile(r"\\(numberwithin|counterwithin|@addtoreset)(\*?)\s*\{([^{}]+)\}\s*\{([^{}]+)\}")
_COUNTER_FORMAT = re.compile(r"\\(?:renewcommand\*?\s*\{?|def\s*)\\the([A-Za-z]+)\}?\s*(?=\{)")
_VALUE = re.compile(r"\\(arabic|Alph|alph|Roman|roman)\s*\{(\w+)\}|\\the([A-Za-z]+)")
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
#: The maximum depth of counters that print other counters.
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Theorem:
    """A statement environment: its printed name and its counter, None if unnumbered."""

    name: str
    counter: str | None = None


@dataclass
class Numbering:
    """The counters of a document: `theorems` by environment, and the current value of each counter."""

    theorems: dict[str, Theorem] = field(default_factory=dict)
    within: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def step(self, counter: str, by: int = 1) -> None:
        """Step a counter and reset the counters within it, as `\\stepcounter` does."""
        self.add(counter, by)
        for inner in self._inside(counter, {counter}):
            self._counts[inner] = 0

    def add(self, counter: str, by: int) -> None:
        """Add to a counter, as `\\addtocounter` does."""
        self.set_to(counter, self._counts.get(counter, 0) + by)

    def set_to(self, counter: str, value: int) -> None:
        """Set a counter, as `\\setcounter` does."""
        self._counts[counter] = value

    def number(self, counter: str) -> str:
        """Return the printed form of a counter: `2.1`, `A.3`."""
        text = self._expanded(rf"\the{counter}", _DEPTH)
        if "\\" in text:
            return readable(text)
        return text

    def appendix(self) -> None:
        """Number chapters or sections by letters from now on."""
        if "section" not in self.within:
            top = "section"
        else:
            top = "chapter"
        self.formats[top] = rf"\Alph{{{top}}}"
        self.step(top, -self._counts.get(top, 0))

    def _inside(self, counter: str, seen: set[str]) -> Iterator[str]:
        for inner, outer in self.within.items():
            if outer == counter and inner not in seen:
                seen.add(inner)
                yield inner
                yield from self._inside(inner, seen)

    def _expanded(self, text: str, depth: int) -> str:
        return _VALUE.sub(lambda value: self._value(value, depth), text)

    def _value(self, value: re.Match[str], depth: int) -> str:
        style, counter, whole = value.groups()
        if whole is None:
            return _styled(self._counts.get(counter, 0), style)
        outer = self.within.get(whole)
        usual = (rf"\the{outer}." if outer else "") + rf"\arabic{{{whole}}}"
        if depth:
            return self._expanded(self.formats.get(whole, usual), depth - 1)
        return ""


def _styled(number: int, style: str) -> str:
    if style == "arabic" or number < 1:
        return str(number)
    if style in ("Alph", "alph"):
        if number <= 26:
            letter = chr(ord("a") + number - 1)
        else:
            letter = str(number)
    else:
        letter = ""
        for value, sign in _ROMAN:
            letter += sign * (number // value)
            number %= value
    if style[0].isupper():
        return letter.upper()
    return letter


def numbering(preamble: str, body: str = "") -> Numbering:
    """Return the counters and statements that a document declares, and the default ones.

    How counters are printed is read from the preamble alone, because redefinitions in the body hold only from there on.
    """
    source = preamble + body
    found = Numbering({name: Theorem(name.capitalize(), name) for name in USUAL})
    levels = [name for name in LEVELS if name != "part" and (name != "chapter" or r"\chapter" in body)]
    found.within |= dict(zip(levels[1:], levels, strict=False))
    aliases = {match[1]: match[2] for match in _ALIAS.finditer(source)}

    def counter(name: str) -> str:
        """Return the counter of an environment or of an alias."""
        name = aliases.get(name.strip(), name.strip())
        known = found.theorems.get(name)
        if known and known.counter:
            return known.counter
        return name

    for name, title, shared, outer, numbered in (*_new_theorems(source), *_declared(source)):
        if shared:
            own = counter(shared)
        else:
            own = aliases.get(name, name)
        found.theorems[name] = Theorem(readable(title) or name.capitalize(), own if numbered else None)
        if outer and not shared:
            found.within[own] = counter(outer)
    for match in _WITHIN.finditer(source):
        own = counter(match[3])
        found.within[own] = counter(match[4])
        if match[2] or match[1] == "@addtoreset":
            found.formats.setdefault(own, rf"\arabic{{{own}}}")
    for match in _COUNTER_FORMAT.finditer(preamble):
        if meaning := argument(preamble, match.end()):
            found.formats[counter(match[1])] = meaning[0]
    return found


#: Name, printed name, shared counter, enclosing counter, and whether it is numbered.
_Declaration = tuple[str, str, str, str, bool]


def _new_theorems(source: str) -> Iterator[_Declaration]:
    for match in _NEW_THEOREM.finditer(source):
        yield match[2].strip(), match[4], match[3] or "", match[5] or "", not match[1]


def _declared(source: str) -> Iterator[_Declaration]:
    """Read declarations such as `\\declaretheorem[name=Satz, numberwithin=section]{satz}`."""
    for match in _DECLARE.finditer(source):
        settings = {
            key.strip(): value.strip("{} ") for key, value in _SETTING.findall(f"{match[1] or ''},{match[3] or ''}")
        }
        title, shared, outer = (
            next(filter(None, (settings.get(name) for name in names)), "")
            for names in (
                ("name", "title", "heading"),
                ("sibling", "numberlike", "sharenumber"),
                ("numberwithin", "within", "parent"),
            )
        )
        for name in match[2].split(","):
            yield name.strip(), title or name.strip().capitalize(), shared, outer, settings.get("numbered") != "no"
