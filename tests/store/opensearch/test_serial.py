"""What is sent to a cluster is JSON that comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("opensearchpy", reason="opensearch-py is not installed")
pytest.importorskip("orjson", reason="orjson is not installed")

from rifflux.store.opensearch.serial import FastSerializer


@pytest.mark.parametrize(
    "value",
    [
        {"text": "naïve 漢字 \U0001f600 \u2028", "numbers": [0, -1, 2**63 - 1, -(2**63), 0.1, 1e300]},
        {"large": 2**80, "text": "beside it"},
        {"half": "\ud800 of a pair"},
        [],
        None,
    ],
)
def test_values_are_written_and_read_again(value: Any) -> None:
    serializer = FastSerializer()
    text = serializer.dumps(value)
    assert serializer.loads(text) == value
    assert json.loads(text) == value


def test_vectors_are_lists_of_the_same_numbers() -> None:
    vector = np.random.default_rng(1).normal(size=200).astype(np.float32)
    found = json.loads(FastSerializer().dumps({"vector": vector}))["vector"]
    assert np.array(found, np.float32).tolist() == vector.tolist()


def test_an_answer_with_half_a_pair_is_read() -> None:
    assert FastSerializer().loads('{"text": "\\ud800", "more": [1]}') == {"text": "\ud800", "more": [1]}
