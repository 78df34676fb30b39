from __future__ import annotations

import json

from callblocks.cluster.cluster_database import prepare_cluster
from callblocks.cluster.dbos_engine import DbosEngine
from callblocks.cluster.turns import ClusterLimits, Job
from support.postgres import connect, fresh_database


def test_a_job_is_one_row_of_json_until_it_ended_long_ago() -> None:
    with fresh_database() as address, connect(address) as connection:
        prepare_cluster(address)
        engine = DbosEngine(address, ClusterLimits())
        for job in (Job(1, 1, "ann"), Job(1, 1, "ann"), Job(2, 1, "ann")):
            engine.enqueue(job)
        ((schema,),) = connection.execute("select current_schema()").fetchall()

        def rows(query: str) -> list[tuple[str, ...]]:
            return connection.execute(query.format(f"{schema}_dbos").encode()).fetchall()

        kept = "select workflow_uuid, serialization from {}.workflow_status order by 1"
        assert rows(kept) == [("turn-1.1", "portable_json"), ("turn-2.1", "portable_json")]
        inputs = "select inputs from {}.workflow_input order by workflow_uuid"
        texts = [json.loads(text) for (text,) in rows(inputs)]
        assert [one["positionalArgs"] for one in texts] == [["turn-1.1"], ["turn-2.1"]]
        engine.withdraw([Job(1, 1)])
        engine.forget_old(3600)
        assert len(rows(kept)) == 2
        # By the clock of this machine, of which that of the server may differ by less.
        engine.forget_old(-3600)
        assert [id for id, _ in rows(kept)] == ["turn-2.1"]
        assert len(rows(inputs)) == 1
        engine.close()
