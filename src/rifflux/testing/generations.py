"""The contract of a store's generations of vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rifflux.errors import InvalidArgument, ModelMismatch
from rifflux.store import ModelInfo, Placed, State, Store, by_meaning
from rifflux.testing.making import MODEL, NeedsOpened, change, vector_of
from rifflux.types import Query

NEXT = ModelInfo("next", "hash", 3, "f2", "next")


class GenerationContract(NeedsOpened):
    """The behaviour of a second generation of vectors next to the first."""

    @pytest.fixture
    def built(self, opened: Store) -> Store:
        """Return a store of three chunks of two owners with vectors of `MODEL`, where `NEXT` has one vector so far."""
        opened.semantic.use_model(MODEL)
        opened.catalog.write(Placed("c", change("a", "text of a", "more of a", first_id=1)))
        opened.of("ann").catalog.write(Placed("c", change("b", "text of b", first_id=3)))
        for view in opened.views():
            self._embed(view, MODEL, (1, 0))
        opened.semantic.generations.begin(NEXT)
        self._embed(opened, NEXT, (0, 0, 1), most=1)
        return opened

    def _embed(self, store: Store, model: ModelInfo, vector: Sequence[float], most: int = 10) -> None:
        for (each,) in list(store.semantic.pending(1, model.fingerprint))[:most]:
            store.semantic.put_vectors([each.id], [each.hash], vector_of(*vector)[None], model.fingerprint)

    def _states(self, store: Store) -> dict[str, tuple[State, int, int]]:
        return {each.model.name: (each.state, each.vectors, each.chunks) for each in store.semantic.generations.all()}

    def test_searches_use_the_old_vectors_while_new_ones_are_built(self, built: Store) -> None:
        assert built.semantic.model() == MODEL
        assert self._states(built) == {"tiny": (State.ACTIVE, 3, 3), "next": (State.BUILDING, 1, 3)}
        assert built.totals().embedded == 2
        assert built.semantic.vectors_of(np.array([1]))[1].tolist() == [1, 0]
        assert len(by_meaning(built, Query(""), vector_of(1, 0), 10)) == 2
        assert [len(list(view.semantic.pending(9, "f2"))) for view in built.views()] == [1, 1]
        assert [len(list(view.semantic.pending(9))) for view in built.views()] == [0, 0]

    def test_nothing_is_switched_before_every_chunk_of_every_owner_has_its_vector(self, built: Store) -> None:
        self._embed(built, NEXT, (0, 0, 1))
        assert not built.semantic.generations.finish()
        assert built.semantic.model() == MODEL
        self._embed(built.of("ann"), NEXT, (0, 0, 1))
        assert built.semantic.generations.finish()
        assert built.semantic.model() == NEXT
        assert self._states(built) == {"next": (State.ACTIVE, 3, 3), "tiny": (State.RETIRED, 3, 3)}
        for view in built.views():
            assert np.allclose(by_meaning(view, Query(""), vector_of(0, 0, 2), 10).scores, 1)

    def test_what_changes_meanwhile_needs_a_vector_in_both(self, built: Store) -> None:
        built.catalog.write(Placed("c", change("a", "another text", "more of a", first_id=1)))
        built.catalog.write(Placed("c", change("c", "new", first_id=9)))
        assert {each.id for batch in built.semantic.pending(9) for each in batch} == {1, 9}
        assert {each.id for batch in built.semantic.pending(9, "f2") for each in batch} == {1, 2, 9}

    def test_a_text_that_is_known_takes_over_its_vectors_in_both(self, built: Store) -> None:
        built.catalog.write(Placed("moved", change("a", "text of a", first_id=500)))
        assert self._states(built) == {"tiny": (State.ACTIVE, 4, 4), "next": (State.BUILDING, 2, 4)}

    def test_an_interrupted_build_goes_on_where_it_was(self, built: Store) -> None:
        built.semantic.generations.begin(NEXT)
        assert self._states(built)["next"] == (State.BUILDING, 1, 3)

    def test_an_aborted_build_is_dropped_and_can_be_taken_up_again_until_it_is(self, built: Store) -> None:
        assert built.semantic.generations.abort() == NEXT
        assert built.semantic.generations.abort() is None
        assert self._states(built)["next"] == (State.RETIRED, 1, 3)
        built.semantic.generations.begin(NEXT)
        assert self._states(built)["next"] == (State.BUILDING, 1, 3)
        built.semantic.generations.abort()
        while built.semantic.generations.drop(1):
            pass
        assert self._states(built) == {"tiny": (State.ACTIVE, 3, 3)}
        assert built.semantic.model() == MODEL

    def test_a_third_model_and_the_one_in_use_are_refused(self, built: Store) -> None:
        with pytest.raises(InvalidArgument, match="abort_switch"):
            built.semantic.generations.begin(ModelInfo("third", "hash", 2, "f3", "third"))
        with pytest.raises(InvalidArgument, match="already"):
            built.semantic.generations.begin(MODEL)
        assert set(self._states(built)) == {"tiny", "next"}

    def test_an_index_without_vectors_has_nothing_to_switch(self, opened: Store) -> None:
        assert opened.semantic.generations.all() == []
        with pytest.raises(InvalidArgument, match="no vectors"):
            opened.semantic.generations.begin(NEXT)
        assert not opened.semantic.generations.finish()

    def test_vectors_of_a_retired_model_are_refused(self, built: Store) -> None:
        built.catalog.write(Placed("c", change("c", "new", first_id=9)))
        (waiting,) = next(iter(built.semantic.pending(1)))
        for view in built.views():
            self._embed(view, NEXT, (0, 0, 1))
        assert built.semantic.generations.finish()
        with pytest.raises(ModelMismatch, match="switched"):
            built.semantic.put_vectors([waiting.id], [waiting.hash], vector_of(1, 0)[None], MODEL.fingerprint)

    def test_a_question_embedded_by_the_former_model_is_not_answered(self, built: Store) -> None:
        for view in built.views():
            self._embed(view, NEXT, (0, 0, 1))
        vector = vector_of(1, 0)
        assert len(by_meaning(built, Query(""), vector, 10, model=MODEL.fingerprint)) == 2
        assert built.semantic.generations.finish()
        with pytest.raises(ModelMismatch):
            by_meaning(built, Query(""), vector, 10, model=MODEL.fingerprint)
