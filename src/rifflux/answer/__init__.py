"""Answers to questions: sentences that stand in the sources of an evidence pack, each with its citations."""

from rifflux.answer.answerer import Answerer

__all__ = ["Answerer"]
