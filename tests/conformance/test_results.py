"""What the README says was found is what was found, by rows that there are."""

from __future__ import annotations

import json

import pytest
import table
from viaduct.conformance._peers import CUDA_PEERS, PEERS
from viaduct.conformance._subjects import rows_for


@pytest.mark.parametrize(("device", "peers"), [("cpu", PEERS), ("cuda", CUDA_PEERS)])
def test_the_results_are_of_rows_and_peers_of_the_kit(device: str, peers: dict[str, object]) -> None:
    found = json.loads((table.HERE / "results" / f"{device}.json").read_text())
    names = {row.name for row in rows_for(device)}
    assert {peer["peer"] for peer in found["peers"]} <= set(peers)
    for peer in found["peers"]:
        assert {failure["row"] for failure in peer["failed"]} <= names
        assert len(peer["failed"]) == peer["counts"]["fail"] + peer["counts"]["crash"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_viaduct_fails_nothing_in_the_results(device: str) -> None:
    found = json.loads((table.HERE / "results" / f"{device}.json").read_text())
    (viaduct,) = [peer for peer in found["peers"] if peer["peer"] == "viaduct"]
    assert viaduct["failed"] == [] and viaduct["counts"]["absent"] == 0


def test_the_readme_has_the_tables_of_the_results() -> None:
    text = table.README.read_text()
    assert table.with_tables(text) == text
