"""`python -m viaduct` where there is a device."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cuda_driver
import pytest
import viaduct as via
from viaduct.cli import doctor, machine, main

START = (Path(__file__).resolve().parents[2] / "docs/start/python.md").read_text()


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def test_info_reports_the_link_of_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    text = capsys.readouterr().out.replace("\n    ", " ")
    assert text.count("\n  link: ") == via.device_count()
    link = machine.link_of(0, machine.nvidia_links())
    assert link in text and "0000:" in link


@pytest.mark.parametrize(
    ("src", "dst", "passes"),
    [
        ("cpu", "cuda:0", ["from cpu", "pinned ring", "to cuda:0"]),
        ("cuda:0", "cpu", ["from cuda:0", "pinned ring", "to cpu"]),
        ("pinned", "cuda:0", ["from pinned", "to cuda:0"]),
        ("cuda:0", "cuda:0", ["from cuda:0", "to cuda:0"]),
    ],
)
def test_explain_draws_the_places_that_the_bytes_pass(
    capsys: pytest.CaptureFixture[str], src: str, dst: str, passes: list[str]
) -> None:
    if "cpu" not in (src, dst):
        cuda_driver.need_kernels()
    assert main(["explain", "4000,5000", "F", "--from", src, "--to", dst]) == 0
    text = capsys.readouterr().out
    boxes = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("  | ")]
    assert len(boxes) == len(passes) and all(map(str.startswith, boxes, passes)), text
    assert max(map(len, text.splitlines())) <= 60


def test_explain_draws_the_memory_that_a_small_strided_copy_passes(capsys: pytest.CaptureFixture[str]) -> None:
    route = via.copy_explain(via.empty(5, "float32", device="cuda:0"), via.empty(5, "float32")[::-1]).splitlines()[0]
    assert "gathered by the host" in route
    assert main(["explain", "5", "-4", "--to", "cuda:0"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"from cpu.*gathered by the host\n.*host memory.*the driver's copy\n.*to cuda:0", text, re.DOTALL)


def test_explain_has_the_route_that_arrays_would_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "400,500", "F", "--to", "cuda:0"]) == 0
    dst, src = via.empty((400, 500), "float32", device="cuda:0"), via.empty((500, 400), "float32").T
    route = via.copy_explain(dst, src).splitlines()[0]
    assert route in capsys.readouterr().out.replace("\n    ", " ")


def test_bench_has_each_route_of_a_device_next_to_a_limit(tmp_path: Path) -> None:
    cuda_driver.need_kernels()
    words = ["bench", "--size", "1", "--seconds", "0.001", "--folder", str(tmp_path), "--json", str(tmp_path / "rows")]
    done = subprocess.run(
        [sys.executable, "-m", "viaduct", *words], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads((tmp_path / "rows").read_text())["rows"] if row["group"].startswith("cuda:0")]
    limits = {row["name"] for row in rows if row["limit"] is None}
    assert limits == {"driver, pinned to device", "driver, device to pinned", "driver, on the device"}
    for name in ("pageable to device", "device to pageable, transposed", "on the device", "pinned to device"):
        (row,) = (row for row in rows if row["name"] == name)
        assert 0 < row["percent"] <= 100


def test_a_part_of_bench_has_no_row_without_its_limit(tmp_path: Path) -> None:
    words = ["--only", "file", "--size", "1", "--seconds", "0.001", "--folder", str(tmp_path)]
    assert main(["bench", *words, "--json", str(tmp_path / "rows")]) == 0
    rows = {row["name"]: row["limit"] for row in json.loads((tmp_path / "rows").read_text())["rows"]}
    assert rows["cached"] and "cached, to device" not in rows


def test_doctor_looks_at_each_device() -> None:
    found = {finding.name: finding for finding in doctor.examine()}
    assert found["CUDA"].found.startswith(str(via.device_count())) and not found["CUDA"].fix
    assert "pinned" in found["cuda:0 staging"].found
    assert bool(found["cuda:0 kernels"].fix) == ("kernels: off" in via.device_info("cuda:0")["routes"])


def test_doctor_knows_a_pytorch_that_knows_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "2.13.0+cpu", "jax": "0.10.2"}
    monkeypatch.setattr(machine, "version_of", lambda packages: versions.get(packages))
    found = {finding.name: finding for finding in doctor.examine_peers()}
    assert found["PyTorch"].fix == "pip install --force-reinstall torch" and found["PyTorch"].optional
    assert found["JAX"].fix == 'pip install "jax[cuda13]"' and found["JAX"].optional


def test_the_commands_of_the_start_page_run(tmp_path: Path) -> None:
    cuda_driver.need_kernels()
    lines = re.findall(r"^python -m viaduct ([^#\n]*)", START, re.MULTILINE)
    assert {line.split()[0] for line in lines} == {"info", "doctor", "explain", "bench"}
    for line in lines:
        words = line.split()
        if words[0] == "bench":
            words += ["--size", "1", "--seconds", "0.001"]
            if importlib.util.find_spec("matplotlib") is None:
                del words[words.index("--plot") : words.index("--plot") + 2]
        done = subprocess.run(
            [sys.executable, "-m", "viaduct", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or (words[0] == "doctor" and "MISSING" in done.stdout), done.stderr
    assert (tmp_path / "rows.json").exists()
