"""Evaluation of ranking: judged collections, comparison of runs, measures with significance, reports.

    collection = read_beir("scifact")
    with Cache("~/.cache/rifflux/eval") as cache:
        outcomes = compare(collection, STANDARD, cache.opener(collection, STANDARD))
    print([outcome.row() for outcome in outcomes])

Measures are those of trec_eval, computed by ir-measures: `pip install 'rifflux[eval]'`.
"""

from rifflux.evaluate.build import Cache
from rifflux.evaluate.collection import Collection, JudgedQuestion, read_beir, read_feedback
from rifflux.evaluate.compare import RunOutcome, compare
from rifflux.evaluate.intents import LabelledQuestion, TakenFor, intents_of, read_labelled
from rifflux.evaluate.measures import MEASURES, Bootstrap
from rifflux.evaluate.page import page
from rifflux.evaluate.report import table, works_table
from rifflux.evaluate.runs import STANDARD, Run, ablation, parse_run

__all__ = [
    "MEASURES",
    "STANDARD",
    "Bootstrap",
    "Cache",
    "Collection",
    "JudgedQuestion",
    "LabelledQuestion",
    "Run",
    "RunOutcome",
    "TakenFor",
    "ablation",
    "compare",
    "intents_of",
    "page",
    "parse_run",
    "read_beir",
    "read_feedback",
    "read_labelled",
    "table",
    "works_table",
]
