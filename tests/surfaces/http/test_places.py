"""Users read their files in turn, each one file at a time, over all workers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rifflux.surfaces.http.places import Places


class GivenUp(Exception):
    """Raised by one who does not wait."""


def give_up() -> None:
    """Not wait."""
    raise GivenUp


@pytest.fixture(params=["one process", "two"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Places, Places]:
    """Two places for reading, as one worker and another have them."""
    one = Places(str(tmp_path), 2, 60.0)
    return (one, one) if request.param == "one process" else (one, Places(str(tmp_path), 2, 60.0))


def test_a_user_has_one_place_and_leaves_one_to_others(places: tuple[Places, Places]) -> None:
    one, other = places
    with one.claimed("ann", give_up):
        for each in places:
            with pytest.raises(GivenUp), each.claimed("ann", give_up):
                pass
        with other.claimed("bob", give_up), pytest.raises(GivenUp), one.claimed("carl", give_up):
            pass
        with other.claimed("carl", give_up):
            pass
    with other.claimed("ann", give_up):
        pass


def test_who_waits_with_many_files_is_served_in_turn_with_others(places: tuple[Places, Places]) -> None:
    one, other = places
    served: list[str] = []
    waiting = threading.Semaphore(0)

    def read(each: Places, user: str) -> None:
        announced: list[bool] = []

        def wait() -> None:
            if not announced:
                announced.append(True)
                waiting.release()

        with each.claimed(user, wait):
            served.append(user)

    threads = []
    users = [*["ann"] * 5, "bob", "carl"]
    # One place stays taken: who has the other is served alone, however long its thread waits for a processor.
    with other.claimed("dora", give_up):
        with one.claimed("ann", give_up):
            for number, user in enumerate(users):
                threads.append(threading.Thread(target=read, args=(places[number % 2], user)))
                threads[-1].start()
                waiting.acquire()
        for thread in threads:
            thread.join()
    assert sorted(served) == sorted(users)
    # Ann was served last: others come before any of hers.
    assert {"bob", "carl"} == set(served[:2])


def test_the_place_of_a_process_that_is_gone_is_free_again(tmp_path: Path) -> None:
    moment = [1000.0]
    gone = Places(str(tmp_path), 2, 60.0, now=lambda: moment[0])
    here = Places(str(tmp_path), 2, 60.0, now=lambda: moment[0])
    never_left = gone.claimed("ann", give_up)
    never_left.__enter__()
    with pytest.raises(GivenUp), here.claimed("ann", give_up):
        pass
    moment[0] += 61.0
    with here.claimed("ann", give_up):
        pass
