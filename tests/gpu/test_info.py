"""What Python reports of devices, of addresses, and of the machine as a whole."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import cuda_driver
import pytest
import viaduct as via
from cuda_driver import Block


def test_devices_are_counted_and_described() -> None:
    assert via.device_count() == via.device_count("cuda") == cuda_driver.device_count()
    assert via.device_count("cpu") == 1
    info = via.device_info()
    assert info == via.device_info("cuda:0") == via.device_info((2, 0))
    assert info["device"] == "cuda:0" and info["device_type"] == 2 and info["total_bytes"] > 1 << 30
    assert info["driver_version"] >= 11000 and info["compute_capability"] >= 50 and info["name"]
    assert "driver copies: on" in info["routes"]
    with pytest.raises(RuntimeError, match="99"):
        via.device_info("cuda:99")


@pytest.mark.parametrize(("kind", "name"), [("device", "cuda:0"), ("pinned", "pinned"), ("managed", "managed")])
def test_an_address_reports_its_place_and_its_allocation(kind: str, name: str) -> None:
    block = Block(4096, kind)
    info = via.pointer_info(block.ptr + 100)
    assert info["device"] == name and not info["readonly"]
    assert info["base"] <= block.ptr and info["base"] + info["nbytes"] >= block.ptr + 4096


def test_an_address_of_the_host_is_the_cpus() -> None:
    room = ctypes.create_string_buffer(64)
    assert via.pointer_info(room)["device"] == "cpu"
    with pytest.raises(ValueError, match="0x10"):
        via.pointer_info(16)


def report(**settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "viaduct", "info"],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    return done.stdout


def test_the_report_names_each_device_and_its_routes() -> None:
    text = report()
    assert text.startswith(f"viaduct {via.__version__}\n\ncpu ")
    for number in range(via.device_count()):
        assert f"\ncuda:{number}  {via.device_info(f'cuda:{number}')['name']}\n" in text
    assert "driver copies: on" in text and "GiB" in text


def test_the_report_says_why_there_is_no_device() -> None:
    text = report(VIADUCT_LIBCUDA="/nowhere/libcuda.so.1")
    assert "cuda  none" in text and "/nowhere/libcuda.so.1" in text.replace("\n    ", " ")


def test_other_words_get_the_usage() -> None:
    done = subprocess.run([sys.executable, "-m", "viaduct", "what"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr
