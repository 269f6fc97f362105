"""What calls of models cost: recorded by user, feature and model, and held against each user's budget."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Unpack

from rifflux.errors import InvalidArgument
from rifflux.service.write_behind import Batch, BatchOptions
from rifflux.store import Registry, Spending, SpendingSum

__all__ = ["Ledger", "Meter", "Prices", "month_start", "read_prices", "summed"]

_MILLION = 1_000_000
#: What a sum of spendings may be by, in the order they are listed.
GROUPS = ("day", "user", "feature", "model")


@dataclass(frozen=True, slots=True)
class Prices:
    """Cost of a million tokens by model, in a currency of one's own choice; models without a price are free."""

    by_model: Mapping[str, float] = field(default_factory=dict)

    def cost(self, model: str, tokens: int) -> float:
        """Return the cost of so many tokens of a model."""
        return self.by_model.get(model, 0.0) * tokens / _MILLION


def read_prices(lines: Iterable[str]) -> Prices:
    """Prices written as `MODEL=PRICE`, a million tokens each. Raises `InvalidArgument` naming the line."""
    found = {}
    for line in lines:
        model, _, price = line.rpartition("=")
        value = math.nan
        with suppress(ValueError):
            value = float(price)
        if not model.strip() or not 0 <= value < math.inf:
            raise InvalidArgument(f"{line!r} is no price: write MODEL=PRICE, the price of a million tokens")
        found[model.strip()] = value
    return Prices(found)


class Ledger:
    """Collects spendings in memory and writes them together, so that a search does not wait for a write.

    The keywords are those of `Batch`. Whoever ends the process must `flush`. Safe to share between threads.
    """

    def __init__(
        self,
        register: Registry,
        prices: Prices | None = None,
        budget: float = math.inf,
        **options: Unpack[BatchOptions],
    ) -> None:
        self.prices = prices or Prices()
        self.budget = budget
        self._register = register
        self._lock = threading.Lock()
        self._spent: dict[str, tuple[float, float]] = {}
        self._batch: Batch[Spending] = Batch(register.spend, **options)

    def note(self, user: str, feature: str, model: str, tokens: int) -> None:
        """Record a call of a model."""
        cost = self.prices.cost(model, tokens)
        with self._lock:
            month, spent = self._spent.get(user, (0.0, 0.0))
            self._spent[user] = month, spent + cost
        self._batch.add(Spending(user, feature, model, tokens, cost, self._batch.now()))

    def flush(self) -> None:
        """Write what waits."""
        self._batch.flush()

    def forget(self, user: str) -> None:
        """Drop what waits of a user who is going to be deleted."""
        self._batch.drop(lambda spending: spending.user == user)
        with self._lock:
            self._spent.pop(user, None)

    def left(self, user: str) -> float:
        """Return the rest of a user's budget of this month; infinite without one."""
        if math.isinf(self.budget):
            return math.inf
        month = month_start(self._batch.now())
        known = self._spent.get(user)
        if known is None or known[0] != month:
            self.flush()
            known = month, self._register.cost(user, month)
            with self._lock:
                self._spent[user] = known
        return self.budget - known[1]

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Spendings by day, user, feature and model; of one user, or of all."""
        self.flush()
        return self._register.spent(user, since, until)


@dataclass(frozen=True, slots=True)
class Meter:
    """Notes what one user's calls of models cost."""

    ledger: Ledger
    user: str

    def refusal(self) -> str | None:
        """Return the reason for which no model may be called for this user now, or None."""
        if self.ledger.left(self.user) > 0:
            return None
        return "this month's budget is spent: searched by words alone"

    def note(self, model: str, tokens: int, feature: str = "rerank") -> None:
        """Record a call of a model: of an embedder to `search` or to `store`, or of a chat model that reranks."""
        self.ledger.note(self.user, feature, model, tokens)


def summed(sums: Iterable[SpendingSum], by: Iterable[str]) -> list[dict[str, str | int | float]]:
    """Spendings summed by some of `day`, `user`, `feature` and `model`, in that order. Raises `InvalidArgument`."""
    asked = list(by)
    unknown = [name for name in asked if name not in GROUPS]
    if unknown:
        raise InvalidArgument(f"usage cannot be summed by {unknown[0]!r}; choose from {', '.join(GROUPS)}")
    names = [name for name in GROUPS if name in asked]
    rows: dict[tuple[str, ...], dict[str, str | int | float]] = {}
    for each in sums:
        key = tuple(getattr(each, name) for name in names)
        row = rows.setdefault(key, dict(zip(names, key, strict=True)) | {"calls": 0, "tokens": 0, "cost": 0.0})
        for name in ("calls", "tokens", "cost"):
            row[name] += getattr(each, name)
    return [rows[key] for key in sorted(rows)]


def month_start(now: float) -> float:
    """Return the first moment of the month (UTC) that a moment lies in; both in seconds since 1970."""
    moment = datetime.fromtimestamp(now, UTC)
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
