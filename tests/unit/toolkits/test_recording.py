"""A recorder and all that it needs, below one folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from callblocks.core.errors import TimelineError
from callblocks.timeline.log.open_store import open_store
from callblocks.toolkits.turn_files import open_recorder
from support.stores import KINDS, fresh_address


def test_all_is_below_one_folder(tmp_path: Path) -> None:
    with open_recorder(tmp_path / "state", "trip") as recorder:
        turn = recorder.new_turn()
        recorder.prompt(turn, "Plan our crossing.")
        recorder.attach(turn, "ferry.txt", b"17:20\n")
    assert (tmp_path / "state/timelines/trip/turn_1/attachments/ferry.txt").is_file()
    assert (tmp_path / "state/artifacts").is_dir()
    with open_store(tmp_path / "state/timelines.sqlite") as store:
        types = [entry.block.type for entry in store.entries("trip")]
    assert types == ["timeline.settings", "user.prompt", "user.attachment", "user.attachment"]


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in (1, 2):
        with open_recorder(tmp_path, "trip") as recorder:
            assert recorder.coming_turn == recorder.new_turn() == f"turn_{number}"


def test_a_folder_that_is_there_is_no_new_turn(tmp_path: Path) -> None:
    (tmp_path / "timelines/trip/turn_4").mkdir(parents=True)
    with open_recorder(tmp_path, "trip") as recorder:
        assert recorder.new_turn() == "turn_5"


def test_a_bad_name_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(TimelineError), open_recorder(tmp_path / "state", "../x"):
        pass
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_two_machines_never_take_the_same_turn(kind: str, tmp_path: Path) -> None:
    """Each has a folder of its own, and the store is all that they share."""
    taken: list[str] = []

    def take(home: Path, address: str) -> None:
        with open_recorder(home, "trip", store=address) as recorder:
            taken.extend(recorder.new_turn() for _ in range(5))

    with fresh_address(kind, tmp_path) as address:
        with open_store(address):
            pass
        homes = [tmp_path / name for name in ("one", "two", "three")]
        threads = [threading.Thread(target=take, args=(home, address)) for home in homes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken, key=lambda turn: int(turn[5:])) == [f"turn_{n}" for n in range(1, 16)]
