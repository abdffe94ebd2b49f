"""`python -m viaduct`: what it reports, that it fits, and what its exit status says."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import viaduct as via
from peers import peer
from viaduct.cli import doctor, info, machine, main
from viaduct.cli.bench import Row, measure
from viaduct.cli.cases import Case, host_group
from viaduct.cli.page import Page, in_bytes

NO_DRIVER = {"VIADUCT_LIBCUDA": "/nowhere/libcuda.so.1"}
# What commands then give as the reason why there is no device.
HAS_CUDA = "expected a build with CUDA" not in info.why_no_device()
REASON = NO_DRIVER["VIADUCT_LIBCUDA"] if HAS_CUDA else "expected a build with CUDA"
NARROW = 60


@pytest.fixture(autouse=True)
def a_narrow_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "viaduct", *words],
        env={**os.environ, **NO_DRIVER, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def reported(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that finds nothing wrong."""
    assert main(words) == 0
    return fitting(capsys.readouterr().out)


def fitting(text: str) -> str:
    assert max(map(len, text.splitlines())) <= NARROW, text
    assert not re.search(r" $", text, re.MULTILINE), "blanks at the end of a line"
    return text


def on_terminal(*words: str, **settings: str) -> str:
    """What a command writes to a terminal of that width, escape sequences and all."""
    pid, terminal = pty.fork()
    if pid == 0:
        kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        environment = {**kept, **NO_DRIVER, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **settings}
        os.execve(sys.executable, [sys.executable, "-m", "viaduct", *words], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, NARROW, 0, 0))
    text = b"".join(read_all(terminal)).decode()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text
    return text


def read_all(terminal: int) -> list[bytes]:
    """Reading ends with an error once the program has."""
    parts: list[bytes] = []
    while True:
        try:
            parts.append(os.read(terminal, 1 << 16))
        except OSError as error:
            assert error.errno == errno.EIO
            return parts
        if not parts[-1]:
            return parts


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")


def stub(folder: Path, name: str) -> dict[str, str]:
    """Settings under which a package cannot be imported."""
    (folder / f"{name}.py").write_text("raise ImportError")
    return {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


# ------------------------------------------------------------------------------------------------ info


def test_info_reports_the_library_its_file_and_what_it_is_used_with(capsys: pytest.CaptureFixture[str]) -> None:
    peer("numpy")
    text = reported(capsys, "info")
    assert text.startswith(f"viaduct {via.__version__}\n\ncpu  ")
    joined = re.sub(r"\n {4}", " ", text)
    file = re.search(r"^  file: ?(.*libviaduct.*)$", text.replace("\n    ", ""), re.MULTILINE)
    assert file and Path(file[1]).exists()
    assert f"NumPy {peer('numpy').__version__}" in joined and "for staging" in joined


def test_info_is_what_no_command_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys) == reported(capsys, "info")


def test_a_pipe_gets_plain_text_without_colours_or_lines() -> None:
    done = run("info", COLUMNS=str(NARROW))
    assert done.returncode == 0 and not done.stderr
    assert fitting(done.stdout).isascii() and "\x1b" not in done.stdout
    assert "cuda  none" in done.stdout and REASON in done.stdout.replace("\n    ", " ")


def test_a_terminal_gets_colours_within_its_width(tmp_path: Path) -> None:
    peer("rich")
    text = on_terminal("explain", "1000,1000", "F")
    assert "\x1b[1m" in text and "┌" in fitting(without_escapes(text))
    plain = on_terminal("explain", "1000,1000", "F", **stub(tmp_path, "rich"))
    assert "\x1b" not in plain and fitting(plain.replace("\r\n", "\n")) == without_escapes(text)


def test_a_terminal_that_has_only_ascii_gets_that() -> None:
    assert without_escapes(on_terminal("explain", "10,10", "F", PYTHONIOENCODING="ascii")).isascii()


def test_what_an_output_cannot_encode_is_escaped_there() -> None:
    done = run("info", PYTHONIOENCODING="ascii", VIADUCT_LIBCUDA="/\u00e9\udcff")
    assert done.returncode == 0 and (r"/\xe9\xff" in done.stdout or not HAS_CUDA), done.stderr


def test_where_nothing_is_mounted_that_describes_the_system_the_rest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "Path", lambda name: tmp_path / "absent")
    assert "file: not known without /proc" in reported(capsys, "info")
    assert machine.memory_available() > 0


def test_a_link_is_reported_as_nvidia_smi_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho '00000000:3B:00.0, 5, 16, 580.12.03'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(machine.driver, "bus_address", {0: "0000:3b:00.0", 1: "0000:5e:00.0"}.get)
    links = machine.nvidia_links()
    assert machine.link_of(0, links) == "PCIe 5 x16, at 0000:3b:00.0"
    assert machine.link_of(1, links) == "at 0000:5e:00.0; its width is not known without nvidia-smi"
    assert machine.link_of(2, links) == "not known"
    assert machine.driver_version(links) == "580.12.03"


def test_what_nvidia_smi_cannot_report_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert machine.nvidia_links() == {}


# ------------------------------------------------------------------------------------------------ explain


def test_explain_draws_the_plan_that_the_copy_would_have(capsys: pytest.CaptureFixture[str]) -> None:
    text = reported(capsys, "explain", "1000,1000", "F")
    src, dst = via.empty((1000, 1000), "float32").T, via.empty((1000, 1000), "float32")
    route = via.copy_explain(dst, src).splitlines()[0]
    assert f"  {route}\n" in text
    assert "| from cpu, strides 4, 4000: column-major |" in text
    assert "    1000 times: source +4, destination +4000\n      1000 times: source +4000, destination +4\n" in text
    assert "      4  4004  8004 12004 ...     4000  4004  4008  4012 ...\n" in text


def test_the_page_of_commands_shows_what_explain_draws() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/commands.md").read_text()
    (shown,) = re.findall(r"^```text\n(1000 x 1000.*?)^```$", page, re.MULTILINE | re.DOTALL)
    reported = run("explain", "1000,1000", "F", COLUMNS="80", VIADUCT_NUM_THREADS="2").stdout
    kernel = re.compile(r"\w+ kernel")  # which one is the processor's
    assert kernel.sub("a kernel", reported) == kernel.sub("a kernel", shown)


def test_explain_takes_strides_as_numpy_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys, "explain", "(3, 5)", "(4, 12)") == reported(capsys, "explain", "3x5", "F")
    assert reported(capsys, "explain", "6,7", "-28,-4", "--dtype", "int32") != reported(capsys, "explain", "6,7")
    assert "      1000 times" not in reported(capsys, "explain", "1000", "-4")


def test_explain_needs_no_memory(capsys: pytest.CaptureFixture[str]) -> None:
    before = via.stats()["host_bytes"]
    assert "bytes: 4000000000000, each moved once" in reported(capsys, "explain", "1000000,1000000", "F")
    assert via.stats()["host_bytes"] == before


def test_explain_counts_elements_where_they_share_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    text = reported(capsys, "explain", "4,6", "--dtype", "int4")
    assert "strides in elements 6, 1" in text and "where the first elements lie" not in text


@pytest.mark.parametrize("shape", ["", "1", "0,4", "2,3,4,5,6"])
def test_explain_takes_every_shape(capsys: pytest.CaptureFixture[str], shape: str) -> None:
    assert "route: " in reported(capsys, "explain", shape)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("3,a",), "SHAPE is '3,a'; expected"),
        (("3,4", "Z"), "STRIDES is 'Z'; expected numbers such as 480,640, C or F"),
        (("3,4", "4"), "STRIDES has 1 numbers; expected 2"),
        (("3,4", "C", "0,0"), "dst has stride 0"),
        (("3", "C", "C", "--dtype", "float33"), "float33"),
    ],
)
def test_explain_reports_in_one_line_what_cannot_be(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    assert main(["explain", *words]) == 1
    reported = capsys.readouterr()
    assert not reported.out and reported.err.startswith("viaduct: ") and reported.err.count("\n") == 1
    assert reason in reported.err


def test_explain_reports_why_there_is_no_device() -> None:
    done = run("explain", "10", "--to", "cuda:0")
    assert done.returncode == 1 and REASON in done.stderr and not done.stdout


@pytest.mark.parametrize(
    "words",
    [("1000000,1000000", "F"), (",".join(["2"] * 22), "F"), ("2,3,4,5", "100,1000,10,4"), ("1,2,3,4,5,6,7,8,9,10",)],
)
def test_explain_fits_the_narrowest_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["explain", *words]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_offsets_that_have_no_room_are_left_out_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    main(["explain", "1000000,1000000", "F"])
    text = capsys.readouterr().out
    assert "         0  4000000  8000000 ...\n" in text and "  12000000 12000004 12000008 ...\n" in text


# ------------------------------------------------------------------------------------------------ bench


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    folder = tmp_path_factory.mktemp("bench")
    options = ["--size", "1", "--seconds", "0.001", "--folder", str(folder), "--json", str(folder / "rows")]
    done = run("bench", *options, COLUMNS=str(NARROW), TMPDIR=str(folder))
    assert done.returncode == 0 and not done.stderr, done.stderr
    fitting(done.stdout)
    assert [path.name for path in folder.iterdir()] == ["rows"], "the file is left behind"
    report = json.loads((folder / "rows").read_text())
    assert report["machine"]["viaduct"] == via.__version__ and report["machine"]["gpus"] == []
    assert all(f"\n{row['name']} " in done.stdout for row in report["rows"])
    return {row["name"]: row for row in report["rows"]}


def test_bench_has_each_route_of_the_host_next_to_a_limit(rows: dict[str, dict[str, object]]) -> None:
    for name in ("contiguous", "transposed", "NCHW to NHWC", "every second column", "cached"):
        row = rows[name]
        assert isinstance(row["percent"], float) and isinstance(row["limit"], str)
        assert row["gb_per_s"] == pytest.approx(row["percent"] / 100 * row["limit_gb_per_s"])  # type: ignore[operator]
        assert row["limit"] in rows


def test_bench_has_limits_that_are_not_the_librarys(rows: dict[str, dict[str, object]]) -> None:
    limits = {name for name, row in rows.items() if row["limit"] is None}
    assert {"memcpy, 1 thread", "pread by all threads, cached"} <= limits
    assert rows["contiguous"]["limit_gb_per_s"] == max(
        rows[name]["gb_per_s"] for name in rows if name.startswith("memcpy") or name == "contiguous"  # type: ignore[type-var]
    )  # fmt: skip


def test_what_bench_times_copies_what_it_says() -> None:
    group = host_group(1 << 20)
    cases = {case.name: case for case in group.cases}
    assert all(isinstance(case, Case) and case.nbytes <= 1 << 20 for case in group.cases)
    for case in group.cases:
        case.run()
    dst, src = (cases["NCHW to NHWC"].run.args[i] for i in range(2))  # type: ignore[attr-defined]
    assert dst.shape == src.shape and dst.strides[1] == 4 and src.c_contiguous and not dst.c_contiguous
    group.close()


def test_what_is_faster_than_its_limit_raises_it() -> None:
    found: dict[str, float] = {"plain": 1e-9}
    row = measure("host", Case("quick", 1 << 20, lambda: None, ("plain", "absent"), 0.5), 0.0001, found)
    assert row.limit == "plain" and row.limit_gb_per_s == row.gb_per_s == found["quick"] and row.percent == 100


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("--folder", "nowhere"),
        ("--folder", "a file"),
        ("--json", "nowhere/rows.json"),
        ("--json", "."),
        ("--json", "sealed/rows.json"),
    ],
)
def test_bench_reports_in_one_line_what_it_cannot_write_before_anything_is_timed(
    tmp_path: Path, option: str, place: str
) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "sealed").mkdir(mode=0o555)
    if place.startswith("sealed") and os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    done = run("bench", "--only", "file", "--size", "1", option, str(tmp_path / place))
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"viaduct: {option}: {tmp_path}")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--size", "-5"), "the size is -5; expected 1 to 16777216"),
        (("--size", "0"), "the size is 0; expected 1"),
        (("--size", "1" + "0" * 30), "expected 1 to"),
        (("--size", "big"), "'big'"),
        (("--seconds", "-1"), "the time is -1.0; expected more than 0"),
        (("--seconds", "nan"), "the time is nan"),
        (("--seconds", "inf"), "the time is inf"),
    ],
)
def test_bench_refuses_numbers_that_measure_nothing(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *words])
    reported = capsys.readouterr()
    assert ended.value.code == 2 and not reported.out and expected in reported.err.splitlines()[-1]


def test_bench_of_a_device_that_is_not_there_says_why() -> None:
    done = run("bench", "--only", "cuda")
    assert done.returncode == 1 and not done.stdout and REASON in done.stderr


def test_a_picture_of_no_known_kind_is_refused_before_anything_is_timed(tmp_path: Path) -> None:
    peer("matplotlib")
    done = run("bench", "--plot", str(tmp_path / "b.txt"))
    assert done.returncode == 1 and not done.stdout and "png" in done.stderr and done.stderr.count("\n") == 1


def test_a_picture_without_matplotlib_is_refused_before_anything_is_timed(tmp_path: Path) -> None:
    done = run("bench", "--plot", str(tmp_path / "b.png"), **stub(tmp_path, "matplotlib"))
    assert done.returncode == 1 and done.stderr == "viaduct: --plot needs matplotlib: pip install matplotlib\n"
    assert not done.stdout


def test_the_picture_is_one(tmp_path: Path) -> None:
    peer("matplotlib")
    from viaduct.cli.plot import draw

    rows = [Row("host", "memcpy", 8, 10.0), Row("host", "contiguous", 8, 9.0, "memcpy", 10.0, 90.0)]
    draw(rows, {"viaduct": "1.0.0", "cpu": "a processor", "threads": 1, "gpus": ["a GPU"]}, tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


# ------------------------------------------------------------------------------------------------ doctor


def found_by_doctor() -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in doctor.examine()}


@pytest.fixture
def nothing_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a GPU that has all else: its setting of huge pages."""
    setting = tmp_path / "enabled"
    setting.write_text("always [madvise] never\n")
    monkeypatch.setattr(doctor, "HUGE_PAGES", setting)
    monkeypatch.setattr(machine, "has_nvidia_device", lambda: False)
    monkeypatch.setattr(info, "why_no_device", lambda: "the CUDA driver could not be opened: libcuda.so.1")
    monkeypatch.setattr(doctor, "device_count", lambda kind: 0)
    for name in ("VIADUCT_LIBCUDA", "VIADUCT_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return setting


@pytest.mark.parametrize(
    "folder", [b"/\xfe", *("/" + "a" * more + "é" * 200 for more in range(2))], ids=["bytes", "even", "odd"]
)
def test_why_there_is_no_driver_is_told_whatever_bytes_its_path_has_or_is_cut_within(folder: bytes | str) -> None:
    told = run("info", VIADUCT_LIBCUDA=os.fsdecode(folder), PYTHONIOENCODING="utf-8")
    assert told.returncode == 0 and ("could not be opened" in told.stdout or not HAS_CUDA), told.stderr


def test_doctor_finds_nothing_missing_where_nothing_is(
    nothing_missing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = reported(capsys, "doctor")
    assert "ok       CUDA: no NVIDIA device on this machine" in text and "MISSING" not in text
    assert "\nNothing is missing" in text


def test_doctor_gives_the_command_that_turns_huge_pages_on(
    nothing_missing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing_missing.write_text("always madvise [never]\n")
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "MISSING  huge pages: off" in text and f"echo madvise | {doctor.as_root()}tee {nothing_missing}\n" in text
    assert re.search(r"^1 thing is missing(; \d could be added)?\.$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("why", "settings", "fix"),
    [
        ("the CUDA driver could not be opened: /x", {"VIADUCT_LIBCUDA": "/x"}, "unset VIADUCT_LIBCUDA"),
        ("the CUDA driver could not be opened: libcuda.so.1", {}, "driver"),
        ("libcuda.so.1 has no cuGetProcAddress; expected a driver of CUDA 11.4 or newer", {}, "driver"),
        ("the CUDA driver finds no device", {"CUDA_VISIBLE_DEVICES": ""}, "unset CUDA_VISIBLE_DEVICES"),
        ("cuInit answered CUDA_ERROR_UNKNOWN", {}, "nvidia-modprobe"),
        ("a CUDA device needs CUDA; expected a build with CUDA", {}, "pip install --force-reinstall ."),
    ],
)
def test_doctor_fixes_a_driver_by_what_is_wrong_with_it(
    nothing_missing: Path, monkeypatch: pytest.MonkeyPatch, why: str, settings: dict[str, str], fix: str
) -> None:
    monkeypatch.setattr(machine, "has_nvidia_device", lambda: True)
    monkeypatch.setattr(doctor, "is_container", lambda: False)
    monkeypatch.setattr(info, "why_no_device", lambda: why)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    finding = found_by_doctor()["CUDA"]
    assert fix in finding.fix and not finding.optional


@pytest.mark.parametrize(
    ("why", "settings", "fix"),
    [
        ("the CUDA driver could not be opened: libcuda.so.1", {}, "--gpus all"),
        ("the CUDA driver finds no device", {}, "--gpus all"),
        ("the CUDA driver finds no device", {"CUDA_VISIBLE_DEVICES": ""}, "unset CUDA_VISIBLE_DEVICES"),
        ("libcuda.so.1 has no cuGetProcAddress; expected a driver of CUDA 11.4 or newer", {}, "# on the host"),
    ],
)
def test_doctor_looks_outside_of_a_container_for_what_cannot_be_fixed_in_it(
    nothing_missing: Path, monkeypatch: pytest.MonkeyPatch, why: str, settings: dict[str, str], fix: str
) -> None:
    monkeypatch.setattr(machine, "has_nvidia_device", lambda: True)
    monkeypatch.setattr(doctor, "is_container", lambda: True)
    monkeypatch.setattr(info, "why_no_device", lambda: why)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert fix in found_by_doctor()["CUDA"].fix


def test_doctor_names_a_setting_that_holds_threads_back(nothing_missing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "num_threads", lambda: 1)
    monkeypatch.setattr(machine, "cpus_of_machine", lambda: 8)
    assert not found_by_doctor()["threads of a host copy"].fix
    monkeypatch.setenv("VIADUCT_NUM_THREADS", "1")
    assert found_by_doctor()["threads of a host copy"].fix == "unset VIADUCT_NUM_THREADS"


@pytest.mark.parametrize(
    ("why", "fix"),
    [
        ("off, this library was built without nvcc", "nvcc"),
        ("off, they were not built for this GPU", "nvcc"),
        ("off, the driver is older than the CUDA Toolkit that they were built with", "driver"),
    ],
)
def test_doctor_fixes_kernels_by_what_is_wrong_with_them(why: str, fix: str) -> None:
    finding = doctor.of_route("cuda:0 kernels", why, doctor.fix_kernels)
    assert fix in finding.fix and finding.found == why.removeprefix("off, ")


# ------------------------------------------------------------------------------------------------ words and pages


def test_other_words_get_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["what"])
    assert ended.value.code == 2 and "usage: python -m viaduct" in capsys.readouterr().err


def test_the_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"viaduct {via.__version__}\n"


def test_words_that_are_no_text_get_one_line() -> None:
    done = run("explain", "3", "--dtype", os.fsdecode(b"\xff"))
    assert done.returncode == 1 and done.stderr.startswith("viaduct: ") and done.stderr.count("\n") == 1


def in_shell(words: str, **settings: str) -> tuple[str, str, int]:
    """What a command line prints and says on stderr, and the status of the first command in it."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m viaduct {words}; exit ${{PIPESTATUS[0]}}"],
        env={**os.environ, **NO_DRIVER, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize("buffered", ["", "1"], ids=["at once", "line by line"])
def test_who_reads_no_further_is_not_reported(buffered: str) -> None:
    assert in_shell("info | head -n 0", PYTHONUNBUFFERED=buffered) == ("", "", 141)


@pytest.mark.parametrize("buffered", ["", "1"], ids=["at once", "line by line"])
def test_a_full_disk_is_reported_once(buffered: str) -> None:
    printed, reported, status = in_shell("info > /dev/full", PYTHONUNBUFFERED=buffered)
    assert (printed, status) == ("", 1) and re.fullmatch(r"viaduct: .*No space left on device\n", reported)


def test_without_a_standard_output_or_a_standard_error_there_is_no_traceback() -> None:
    assert in_shell("info >&-") == ("", "viaduct: there is no standard output to write to\n", 1)
    assert in_shell("bench --only host --size 1 --seconds 0.001 2>&-")[2] == 0


def test_no_color_is_heeded() -> None:
    peer("rich")
    assert not re.search(r"\x1b\[[0-9;]*3\dm", on_terminal("info", NO_COLOR="1"))
    assert re.search(r"\x1b\[[0-9;]*3\dm", on_terminal("info"))


def test_a_table_folds_its_names_and_keeps_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    Page(24).table(["", "GB/s"], [["a name of many words indeed", "12.5"], ["short", "3.0"]])
    assert capsys.readouterr().out.splitlines() == [
        "                    GB/s",
        "a name of many",
        "  words indeed      12.5",
        "short                3.0",
    ]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1536, "1.5 KiB"), (64 << 20, "64 MiB"), (5 << 40, "5 TiB")]
)
def test_sizes_are_reported_in_the_unit_that_suits_them(count: int, text: str) -> None:
    assert in_bytes(count) == text
