"""LaTeX sources become works with their statements, references and citations, whatever does not balance."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rifflux import Index
from rifflux.types import Identifier, Link, Tag
from rifflux.works.importers.latex.numbering import numbering
from rifflux.works.importers.latex.outline import PaperOutline
from rifflux.works.importers.latex.tex import macros_of
from tests.support.exploring import examples

PAPER = r"""
\documentclass{amsart}
\newtheorem{theorem}{Theorem}[section]
\newtheorem{lem}[theorem]{Lemma}
\theoremstyle{definition}\newtheorem{defn}[theorem]{Definition}\newtheorem*{rem}{Remark}
\newcommand{\OX}{\mathcal{O}_X}
\newcommand{\sheaf}[1]{\mathcal{#1}}
\DeclareMathOperator{\Proj}{Proj}
\title[Short]{On {C}oherent Sheaves of \'Etale $K$-theory}
\author{Jean-Pierre Serre\thanks{Supported by \emph{nobody}.} \and Paul Erd\H{o}s}
\date{May 1955}
\subjclass[2020]{Primary 14F05; Secondary 14A15}
\keywords{sheaves, schemes}
\begin{document}
\begin{abstract}
We study \OX-modules. % and hide this
\end{abstract}
\section{Introduction}\label{sec:intro}
Some words before Theorem~\ref{thm:main}, see \cite[p.~2]{weil, ega}.
\begin{theorem}[Serre vanishing]\label{thm:main}
Let $\sheaf{F}$ be coherent on $\Proj A$. Then it vanishes, by \cref{lem:a,def:b}.
\end{theorem}
\begin{proof}
\begin{enumerate} \item Use Lemma \ref{lem:a}. \end{enumerate}
\end{proof}
\subsection{Tools}
\begin{lem}\label{lem:a}
A lemma of tools.
\end{lem}
\section{More}
\begin{defn}\label{def:b}
A module is \emph{perfectly flat} if it is.
\end{defn}
\begin{rem} Not numbered. \end{rem}
Closing words on \OX.
\begin{thebibliography}{9}
\bibitem{weil} A. Weil, \emph{Foundations}, \texttt{doi:10.1090/coll/029}.
\bibitem[EGA]{ega} A. Grothendieck, no number.
\end{thebibliography}
\end{document}
after the end
"""


def test_a_paper_is_a_work_of_numbered_passages(index: Index, write: Any) -> None:
    report = index.works.import_files(write("serre.tex", PAPER), license="CC0-1.0", embed=False)
    assert (report.added, report.failed, report.noted) == (1, (), ())
    work = index.works.get("serre:serre").work
    assert work.title == "On Coherent Sheaves of Étale $K$-theory"
    assert work.authors == ("Jean-Pierre Serre", "Paul Erdős")
    assert (work.year, work.abstract) == (1955, r"We study \mathcal{O}_X-modules.")
    assert set(work.tags) == {
        Tag("msc", "14F05"), Tag("msc", "14A15"), Tag("keyword", "sheaves"), Tag("keyword", "schemes")
    }  # fmt: skip
    assert [(passage.kind, passage.headings, passage.label) for passage in work.passages] == [
        ("section", ("1 Introduction",), "sec:intro"),
        ("theorem", ("1 Introduction", "Theorem 1.1 (Serre vanishing)"), "thm:main"),
        ("proof", ("1 Introduction", "Proof of Theorem 1.1"), ""),
        ("lemma", ("1 Introduction", "1.1 Tools", "Lemma 1.2"), "lem:a"),
        ("definition", ("2 More", "Definition 2.1 (perfectly flat)"), "def:b"),
        ("remark", ("2 More", "Remark"), ""),
        ("section", ("2 More",), ""),
    ]
    assert work.passages[1].text.startswith(r"Let $\mathcal{F}$ be coherent on $\operatorname{Proj} A$.")
    assert "after the end" not in "".join(passage.text for passage in work.passages)


def test_labels_and_references_become_identifiers_and_links(index: Index, write: Any) -> None:
    index.works.import_files(write("serre.tex", PAPER), license="CC0-1.0", embed=False)
    work = index.works.get("serre:thm:main").work
    assert {Identifier("serre", label) for label in ("thm:main", "lem:a", "def:b")} <= set(work.identifiers)
    assert set(work.citations) == {
        Link("serre:thm:main", "refers"), Link("serre:lem:a", "refers"), Link("serre:def:b", "refers"),
        Link("doi:10.1090/coll/029"), Link("serre.bib:ega"),
    }  # fmt: skip


def test_a_statement_is_found_under_its_name(index: Index, write: Any) -> None:
    index.works.import_files(write("serre.tex", PAPER), license="CC0-1.0", embed=False)
    hits = index.search("Serre vanishing theorem", mode="lexical")
    assert hits[0].heading_path == "1 Introduction > Theorem 1.1 (Serre vanishing)"
    assert index.search("perfectly flat", mode="lexical")[0].heading_path.endswith("Definition 2.1 (perfectly flat)")
    assert index.search("𝒪_X", mode="lexical")[0].key == "serre"


def test_inputs_bibliographies_and_labels_of_the_folder_are_found(index: Index, write: Any) -> None:
    write("book/refs.bib", "@book{ega, title={Elements}, year=1960}")
    write("book/intro.tex", r"\section{Intro}\begin{lemma}\label{lem:x} Text. \end{lemma} \cite{ega}")
    main = write("book/main.tex", r"\begin{document}\input{intro}\bibliography{refs}\ref{other-lem:y}\end{document}")
    write("book/other.tex", r"\title{Other}\begin{document}\begin{lemma}\label{lem:y} Other. \end{lemma}\end{document}")
    report = index.works.import_files(main.parent, license="CC0-1.0", embed=False)
    assert (report.added, report.failed, report.noted) == (3, (), ())
    shelved = index.works.get("book:main")
    assert {hit.title for hit in shelved.cites} == {"Elements", "Other"}
    assert [passage.headings for passage in shelved.work.passages] == [("1 Intro", "Lemma 1")]


def test_what_does_not_balance_is_told_with_its_place_and_the_rest_goes_on(index: Index, write: Any) -> None:
    text = r"""\begin{document}
\section{One}
\begin{theorem} First {statement.
\begin{proof} Never ended.
\section{Two}
\end{lemma}
\begin{lemma}\begin{equation} x \end{lemma} Said \ref{none} and \cite{nobody}.
\begin{definition} Last one. \end{definition}
\input{missing}"""
    report = index.works.import_files(write("bad.tex", text), license="CC0-1.0", embed=False)
    assert report.added == 1
    told = [note.reason for note in report.noted]
    for expected in (
        "bad.tex:9: the input 'missing' is missing",
        r"bad.tex:4: \begin{proof} is still open where a \section begins",
        r"bad.tex:3: \begin{theorem} is still open where a \section begins",
        r"bad.tex:6: \end{lemma} has no matching \begin",
        r"bad.tex:7: \end{lemma} comes before the end of \begin{equation} at bad.tex:7",
        r"\end{document} is missing",
        r"bad.tex:3: unmatched brace '{'",
        r"\ref{none} does not match a label",
        r"\cite{nobody} does not match an entry of the document's bibliographies",
    ):
        assert any(expected in reason for reason in told), (expected, told)
    kinds = [passage.kind for passage in index.works.get("bad:bad").work.passages]
    assert kinds == ["theorem", "lemma", "section", "definition"]


def test_macros_are_expanded_as_far_as_they_are_simple() -> None:
    macros = macros_of(
        r"\newcommand{\A}{\alpha}\def\B{\A x}\newcommand\pair[2]{(#1, #2)}\renewcommand{\loop}{\loop}"
        r"\newcommand{\opt}[1][a]{#1}\def\grow{\A\A\A}"
    )
    assert macros.expand(r"\Ab \B, \A y \pair{1}{{2}} \pair{1} \loop \opt") == (
        r"\Ab \alpha x, \alpha y (1, {2}) \pair{1} \loop \opt"
    )
    assert macros.expand(r"\A b") == r"\alpha b"


def test_numbers_follow_the_counters() -> None:
    preamble = r"\newtheorem{thm}{Satz}[chapter]\newtheorem{cor}[thm]{Korollar}\newtheorem{ex}{Beispiel}"
    body = (
        r"\chapter{A}\begin{thm}a\end{thm}\begin{cor}b\end{cor}\section{S}\begin{ex}c\end{ex}"
        r"\chapter{B}\begin{cor}d\end{cor}\begin{ex}e\end{ex}\begin{thm*}f\end{thm*}"
    )
    passages = PaperOutline(body, numbering(preamble, body), str).passages()
    assert [passage.headings[-1] for passage in passages] == [
        "Satz 1.1", "Korollar 1.2", "Beispiel 1", "Korollar 2.1", "Beispiel 2", "Satz"
    ]  # fmt: skip


edges = [rf"\{edge}{{{name}}}" for edge in ("begin", "end") for name in ("theorem", "proof", "x", "abstract")]
others = [r"\section{S}", "{", "}", "words ", r"\label{l}", r"\section{", "$", "\\", "% no\n"]
pieces = st.sampled_from([*edges, *others])


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pieces, max_size=25).map("".join))
def test_any_latex_is_taken_apart_and_no_word_is_lost(body: str) -> None:
    outline = PaperOutline(body, numbering(""), str)
    found = "".join(passage.text for passage in outline.passages()) + outline.abstract
    lost = body.count("words") - found.count("words")
    assert lost == 0 or any(mark in body for mark in ("{words", r"\section{", r"\words", "abstract"))


NUMBERED = r"""
\newtheorem{thm}[equation]{Theorem}\newtheorem{lem}[thm]{Lemma}\numberwithin{equation}{section}
\newtheorem{cor}[subsection]{Corollary}\newtheorem{claim}{Claim}[equation]
\newtheorem{main}{Main Theorem}\renewcommand{\themain}{\Alph{main}}
\newaliascnt{prop}{equation}\newtheorem{prop}[prop]{Proposition}
\declaretheorem[name=Vermutung, numberwithin=section]{verm}\declaretheorem[sibling=verm]{satz}
"""
NUMBERED_BODY = r"""
\begin{main}[Serre, see \cite{x}]\label{m} a \end{main}
\section{A}\begin{equation} x \end{equation}\begin{thm} b \end{thm}\begin{claim} c \end{claim}
\begin{align} x \\ y \notag \\ \begin{matrix} 1 \\ 2 \end{matrix} \end{align}
\begin{lem}[{\cite[Thm 1]{x}}]\label{l} d \end{lem}\begin{prop} p \end{prop}
\subsection{S}\begin{cor} e \end{cor}
\begin{verm} f \end{verm}\begin{restatable}[Fermat]{satz}{fermat} g \end{restatable}
\begin{proof}[\textbf{Proof of Lemma~\ref{l} and \autoref{m}.}] h \end{proof}
\iffalse \begin{lem} dead \ifx a\b c \fi \end{lem} \fi
\setcounter{equation}{8}\begin{lem} i \end{lem}
\appendix\section{Z}\begin{lem} j \end{lem}
\begin{thebibliography}{9}\bibitem{x} hidden \end{thebibliography}
"""


def test_numbers_and_headings_are_those_that_latex_prints(index: Index, write: Any) -> None:
    write("own.sty", NUMBERED)
    text = rf"\documentclass{{amsart}}\usepackage{{amsmath,own}}\begin{{document}}{NUMBERED_BODY}\end{{document}}"
    index.works.import_files(write("n.tex", text), license="CC0-1.0", embed=False)
    passages = index.works.get("n:n").work.passages
    statements = [passage for passage in passages if passage.kind != "section"]
    assert [passage.headings[-1] for passage in statements] == [
        "Main Theorem A (Serre)", "Theorem 1.2", "Claim 1.2.1", "Lemma 1.5", "Proposition 1.6", "Corollary 1.2",
        "Vermutung 1.1", "Satz 1.2 (Fermat)", "Proof of Lemma 1.5 and Main Theorem A", "Lemma 1.9", "Lemma A.1",
    ]  # fmt: skip
    assert [passage.kind for passage in statements[:2]] == ["theorem", "theorem"]
    assert statements[8].text == "h"
    everything = "".join(passage.text for passage in passages)
    assert not any(word in everything for word in ("dead", "hidden", "cite", "appendix"))


def test_notes_on_titles_and_names_are_left_out(index: Index, write: Any) -> None:
    text = r"""\title{On things\thanks{Supported by \emph{NSF}} {\em and styles}\footnote[1]{foot}}
\author{A. One\inst{1} \and B. Two\textsuperscript{2}, C. Three$^{3}$}
\begin{document} Text. \end{document}"""
    index.works.import_files(write("t.tex", text), license="CC0-1.0", embed=False)
    work = index.works.get("t:t").work
    assert (work.title, work.authors) == ("On things and styles", ("A. One", "B. Two", "C. Three"))


def test_parts_in_folders_below_are_no_works_of_their_own(index: Index, write: Any) -> None:
    main = write("tex/main.tex", r"\begin{document}\input{sec/one}\include{sec/two}\end{document}")
    write("tex/sec/one.tex", r"\section{One} Text. \input sec/deep/three")
    write("tex/sec/two.tex", r"\section{Two} Text.")
    write("tex/sec/deep/three.tex", "More of it.")
    write("tex/sec/own.tex", r"\section{Own} In nothing else.")
    write("tex/empty.tex", "% nothing")
    report = index.works.import_files(main.parent, license="CC0-1.0", embed=False)
    assert (report.added, report.noted) == (2, ())
    assert [(failure.path[-9:], failure.reason) for failure in report.failed] == [
        ("empty.tex", "it has neither a title nor a text")
    ]
    assert "More of it." in index.works.get("tex:main").work.passages[0].text


def test_citations_find_the_bibliography_that_has_them_or_what_latex_made_of_it(index: Index, write: Any) -> None:
    write("p/a.bib", "@book{k1, title={First}}")
    write("p/b.bib", "@book{k2, title={Second}}")
    write("p/ms.bbl", r"\begin{thebibliography}{1}", r"\bibitem{k3} doi:10.2307/1969915", r"\end{thebibliography}")
    text = r"\begin{document} A. \cite{k1,k2}" + "\n" + r"\cite{k3} \cite{k4} \bibliography{a,b}\end{document}"
    report = index.works.import_files(write("p/ms.tex", text), license="CC0-1.0", embed=False)
    cited = {Link("a:k1"), Link("b:k2"), Link("doi:10.2307/1969915")}
    assert set(index.works.get("ms:ms").work.citations) == cited
    assert [note.reason for note in report.noted] == [
        r"ms.tex:2: \cite{k4} does not match an entry of the document's bibliographies"
    ]


def test_an_abstract_that_is_never_closed_swallows_nothing(index: Index, write: Any) -> None:
    text = r"\begin{document}\begin{abstract} Short." + "\n\n" + r"\section{One} Text. \end{document}"
    end = r"\begin{document}\begin{abstract} Short." + "\n\n" + r"Then more. \begin{lemma} L. \end{lemma}\end{document}"
    reports = [
        index.works.import_files(write(name, text), license="CC0-1.0", embed=False)
        for name, text in (("a.tex", text), ("b.tex", end))
    ]
    assert all("abstract" in report.noted[0].reason for report in reports)
    one, other = (index.works.get(name).work for name in ("a:a", "b:b"))
    assert (one.abstract, [passage.text for passage in one.passages]) == ("Short.", ["Text."])
    assert [passage.kind for passage in other.passages][-1] == "lemma"
