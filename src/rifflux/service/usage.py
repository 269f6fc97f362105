"""The cost of calls of models: recorded by user, feature and model, and compared with each user's budget."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rifflux.errors import InvalidArgument, RiffluxError
from rifflux.models.guarded import NO_BILL, Bill, BudgetExhausted
from rifflux.service.nouns import Spending, SpendingSum
from rifflux.service.registry import Registry
from rifflux.service.write_behind import Batch, Later, WriteGate

_MILLION = 1_000_000
#: The keys by which spendings can be summed, in order.
GROUPS = ("day", "user", "feature", "model")
#: Seconds that spendings of a service are collected before they are written.
TOGETHER_S = 1.0
#: Seconds that closing waits for pending settlements.
CLOSE_S = 10.0
_log = logging.getLogger(__name__)


def read_prices(lines: Iterable[str]) -> dict[str, float]:
    """Return prices of a million tokens by model from `MODEL=PRICE` lines. Raises `InvalidArgument` naming the line."""
    found = {}
    for line in lines:
        model, _, price = line.rpartition("=")
        value = math.nan
        with suppress(ValueError):
            value = float(price)
        if not model.strip() or not 0 <= value < math.inf:
            raise InvalidArgument(f"{line!r} is no price: write MODEL=PRICE, the price of a million tokens")
        found[model.strip()] = value
    return found


class Ledger:
    """Records the cost of calls of models, and compares it with each user's monthly budget (UTC).

    `prices` are per million tokens by model, in any currency; other models are free. A call with a price is reserved in
    the `budget` before it is made, in one transaction with the spendings of all processes, and released if it fails.
    Every call that has a price or leaves this process is recorded; those of a service (`served`) without exception. If
    a record cannot be written, the call is made without one, unless there is a budget. Calls that end after `close` are
    not recorded. Safe to share between threads.
    """

    def __init__(
        self,
        register: Registry,
        prices: Mapping[str, float] | None = None,
        budget: float = math.inf,
        *,
        read_only: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.prices = prices or {}
        self.budget = budget
        self._register = register
        self._read_only = read_only
        self._now = now
        self._free = False
        self._gate = WriteGate()
        self._batch: Batch[Spending] | None = None

    def served(self, later: Later, *, seconds: float = TOGETHER_S) -> None:
        """Record every call from now on, in batches written by `later`."""
        if self._batch:
            self._batch.close()
        self._batch = Batch(self._register.spend, seconds=seconds, now=self._now, later=later)

    @contextmanager
    def free(self) -> Iterator[None]:
        """Charge nobody for the calls made in the block: no user caused them."""
        self._free = True
        try:
            yield
        finally:
            self._free = False

    def bill(self, user: str, model: str, feature: str, tokens: Callable[[], int], *, here: bool) -> Bill:
        """Return the bill of a call. Raises `BudgetExhausted` if the budget does not cover it."""
        if self._free:
            return NO_BILL
        costs = self.prices.get(model, 0.0) > 0
        if not costs and (self._read_only or (here and not self._batch)):
            return NO_BILL
        read = tokens()
        spending = Spending(user, feature, model, read, self.cost(model, read), self._now())
        if costs and not math.isinf(self.budget):
            return _Reserved(self, spending, self._reserve(spending))
        if self._read_only:
            return NO_BILL
        return _Noted(self, spending)

    def cost(self, model: str, tokens: int) -> float:
        """Return the cost of tokens of a model."""
        return self.prices.get(model, 0.0) * tokens / _MILLION

    def _reserve(self, spending: Spending) -> str:
        since = month_start(spending.time)
        try:
            id = self._register.reserve(spending, self.budget, since)
        except RiffluxError as error:
            raise BudgetExhausted("what it costs cannot be recorded in the index now", cause=str(error)) from None
        if id is None:
            raise BudgetExhausted("this month's budget is spent")
        return id

    def record(self, spending: Spending) -> None:
        """Record a completed call."""
        if self._batch:
            self._batch.add(spending)
        else:
            self._write(lambda: self._register.spend([spending]))

    def settle(self, id: str, spending: Spending | None) -> None:
        """Record the outcome of a reserved call; None for a failed one."""
        self._write(lambda: self._register.settle(id, spending))

    def _write(self, write: Callable[[], object]) -> None:
        with self._gate.passing() as passed:
            if passed:
                _if_it_can(write)

    def flush(self) -> None:
        """Write pending records."""
        if self._batch:
            self._batch.flush()

    def close(self) -> None:
        """Write pending records if possible, and none after that: the index is about to be closed."""
        if self._batch:
            self._batch.close()
        if not self._gate.close(CLOSE_S):
            _log.warning("what models cost is still being written: the index is closed meanwhile")

    def forget(self, user: str) -> None:
        """Drop pending records of a user who is about to be deleted."""
        if self._batch:
            self._batch.drop(lambda spending: spending.user == user)

    def left(self, user: str) -> float:
        """Return the remaining budget of a user for this month; infinite without one."""
        if math.isinf(self.budget):
            return math.inf
        _if_it_can(self.flush)
        spent = self._register.spent(user, month_start(self._now()))
        return self.budget - sum(each.cost for each in spent)

    def spent(self, user: str | None = None, since: float = 0.0, until: float | None = None) -> list[SpendingSum]:
        """Spendings by day, user, feature and model; of one user, or of all."""
        _if_it_can(self.flush)
        return self._register.spent(user, since, until)


@dataclass(slots=True)
class _Noted:
    """The bill of a call that is recorded after its answer."""

    ledger: Ledger
    spending: Spending
    settled: bool = False

    def settle(self, tokens: int | None = None) -> None:
        """Record the call."""
        if not self.settled:
            self.settled = True
            self.ledger.record(_with_reported_tokens(self.ledger, self.spending, tokens))

    def cancel(self) -> None:
        """Record nothing."""


@dataclass(slots=True)
class _Reserved:
    """The bill of a call that was reserved in the budget and is already recorded."""

    ledger: Ledger
    spending: Spending
    id: str
    settled: bool = False

    def settle(self, tokens: int | None = None) -> None:
        """Correct the record of the call to its actual tokens."""
        if not self.settled and tokens is not None:
            self.ledger.settle(self.id, _with_reported_tokens(self.ledger, self.spending, tokens))
        self.settled = True

    def cancel(self) -> None:
        """Remove the record."""
        if self.settled:
            return
        self.ledger.settle(self.id, None)


def _with_reported_tokens(ledger: Ledger, spending: Spending, tokens: int | None) -> Spending:
    """Return a spending with the token counts that the model reported."""
    if tokens is None:
        return spending
    return replace(spending, tokens=tokens, cost=ledger.cost(spending.model, tokens))


def _if_it_can(write: Callable[[], object]) -> None:
    """Write a record, unless the index cannot be written now: answers do not wait for it."""
    try:
        write()
    except Exception as error:  # whatever keeps it from being written, such as an index that was closed meanwhile
        _log.warning("what models cost was not recorded: %s", error)


def summed(sums: Iterable[SpendingSum], by: Iterable[str]) -> list[dict[str, str | int | float]]:
    """Spendings summed by some of `day`, `user`, `feature` and `model`, in that order. Raises `InvalidArgument`."""
    keys = list(by)
    unknown = [name for name in keys if name not in GROUPS]
    if unknown:
        raise InvalidArgument(f"usage cannot be summed by {unknown[0]!r}; choose from {', '.join(GROUPS)}")
    names = [name for name in GROUPS if name in keys]
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
