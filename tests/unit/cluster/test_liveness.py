from __future__ import annotations

from collections.abc import Iterator

import pytest

from callblocks.cluster.cluster_database import prepare_cluster
from callblocks.cluster.worker import Liveness
from support.clusters import until
from support.postgres import connect, fresh_database


@pytest.fixture
def address() -> Iterator[str]:
    with fresh_database() as address:
        prepare_cluster(address)
        yield address


def test_workers_outlive_a_database_that_stood_still(address: str) -> None:
    gone: list[int] = []
    lost: list[str] = []

    def begin(name: str) -> Liveness:
        worker = Liveness(
            address,
            name,
            1,
            reap=lambda id, name: gone.append(id),
            lost=lambda: lost.append(name),
            silence=2.0,
        )
        worker.start()
        return worker

    workers = [begin(name) for name in ("first", "second", "third")]
    with connect(address) as connection:

        def fresh(seconds: float) -> int:
            row = connection.execute(
                "select count(*) from callblocks_workers"
                " where beat > clock_timestamp() - make_interval(secs => %s)",
                (seconds,),
            ).fetchone()
            return row[0] if row else 0

        until(lambda: fresh(1.0) == 3)
        with connection.transaction():
            connection.execute("lock table callblocks_workers in exclusive mode")
            until(lambda: fresh(2.5) == 0)
        # A fourth one, which dies, is found by those who have looked at the others by then.
        begin("fourth")._end.set()
        until(lambda: gone)
    dead = {*gone, *lost}
    for worker in workers:
        worker.leave()
    assert dead == {4}
