"""The suites of Java and C#, and a job in C, on a machine that has a GPU, and of their toolchains nothing.

`languages.py pack` makes build/gpu-languages where a build, a JDK and Mono are: a cut-down JVM, Mono, the test runners
and the tests. `languages.py run [--json FILE]` runs them where the GPU is, with this machine's driver; VIADUCT_LIBCUDA
may name another. It needs this checkout, that folder, and a Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from run import ROOT, Suite, count_junit, driver_number, make_report, nvidia_smi, show

BUILD = Path(os.environ.get("VIADUCT_BUILD_DIR", ROOT / "build/test"))
FOLDER = ROOT / "build/gpu-languages"
SECONDS = 240
MODULES = "java.base,java.compiler,java.logging,java.management,java.xml,jdk.unsupported"
MONO_LIBRARIES = ("libmono-native.so", "libMonoPosixHelper.so")
MONO_ASSEMBLIES = ("mscorlib", "System", "System.Core", "System.Numerics", "System.Xml", "System.Configuration")
MONO_ASSEMBLIES += ("System.Drawing", "System.Runtime.Remoting", "Mono.Security")
NUNIT_ASSEMBLIES = ("nunit-console-runner", "nunit.core", "nunit.core.interfaces", "nunit.util")
CSHARP_PROGRAMS = ("Ending.exe", "Sharing.exe")  # that tests start, besides the examples


# ------------------------------------------------------------------------------------------------ packed


def copy_into(folder: Path, files: Iterable[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file.resolve(), folder / file.name)


def settings_of_java() -> dict[str, str]:
    return dict(line.split("=", 1) for line in (BUILD / "java/java.junit").read_text().splitlines())


def pack_java() -> None:
    reported, folder = settings_of_java(), FOLDER / "java"
    jlink = Path(shutil.which("javac") or "javac").resolve().with_name("jlink")
    options = ["--strip-debug", "--no-header-files", "--no-man-pages", "--compress=2", "--add-modules", MODULES]
    subprocess.run([jlink, *options, "--output", FOLDER / "jvm"], check=True)
    copy_into(folder, map(Path, [reported["jar"], reported["library"]]))
    copy_into(folder / "junit", map(Path, reported["junit"].split(":")))
    copy_into(folder / "examples", Path(reported["examples"]).glob("libframe_sink.so"))
    shutil.copytree(reported["classes"], folder / "classes")


def needed_by(library: Path) -> list[Path]:
    """What it links to, but for what every machine has."""
    reported = subprocess.run(["ldd", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    named = [Path(line.split()[2]) for line in reported.splitlines() if "=>" in line]
    return [path for path in named if not path.name.startswith(("libc.", "libm.", "libresolv."))]


def pack_mono() -> None:
    mono, system = FOLDER / "mono", Path("/usr/lib/mono/4.5")
    (mono / "bin").mkdir(parents=True)
    shutil.copy("/usr/bin/mono-sgen", mono / "bin/mono")
    copy_into(mono / "lib/mono/4.5", (system / f"{name}.dll" for name in MONO_ASSEMBLIES))
    for library in (Path("/usr/lib") / name for name in MONO_LIBRARIES):
        copy_into(mono / "lib", [library, *needed_by(library)])
    copy_into(mono / "etc/mono", [Path("/etc/mono/config")])
    copy_into(mono / "etc/mono/4.5", [Path("/etc/mono/4.5/machine.config")])


def pack_csharp() -> None:
    pack_mono()
    made, folder = BUILD / "csharp", FOLDER / "csharp"
    runners = [next(Path("/usr/lib/mono/gac").glob(f"{name}/2.6*/{name}.dll")) for name in NUNIT_ASSEMBLIES]
    framework = next(Path("/usr/lib/cli").glob("nunit.framework-2.6*/nunit.framework.dll"))
    copy_into(FOLDER / "nunit", [*runners, *Path("/usr/lib/nunit").glob("nunit-console.exe*")])
    examples = [f"{path.stem}.exe" for path in (ROOT / "bindings/csharp/examples").glob("*.cs")]
    programs = [made / name for name in (*examples, *CSHARP_PROGRAMS)]
    copy_into(folder, [*made.glob("Viaduct*.dll"), *made.glob("libviaduct*.so"), *programs, framework])


def pack() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    pack_java()
    pack_csharp()
    copy_into(FOLDER / "lib", BUILD.glob("src/libviaduct.so.1"))
    copy_into(FOLDER / "bin", [next(BUILD.glob("**/network_input"))])
    for file in FOLDER.rglob("*"):
        if file.suffix == ".so" or ".so." in file.name or file.parent.name == "bin":
            subprocess.run(["strip", "--strip-unneeded", file], stderr=subprocess.DEVNULL, check=False)
    reported = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    commit = subprocess.run(reported, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    (FOLDER / "commit").write_text(commit.stdout or "unknown")


# ------------------------------------------------------------------------------------------------ run


@dataclass
class Folder:
    """What was packed, as run.py's report wants it."""

    commit: str


def environment(**more: str) -> dict[str, str]:
    libraries = [f"{FOLDER}/lib", *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    return {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": ":".join(filter(None, libraries)), **more}


def answer(command: list[str | Path], log: str, **more: str) -> tuple[int, str]:
    """The exit status, -1 if time ran out, and the output, which also goes to a log."""
    path = FOLDER / f"logs/{log}.log"
    with path.open("w") as output:
        try:
            status = subprocess.run(
                command,
                cwd=ROOT,
                env=environment(**more),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
    return status, path.read_text(errors="replace")


def finish(suite: Suite, status: int, text: str) -> Suite:
    """A suite that ended badly without a test that failed, or without any test, has failed."""
    if (status != 0 and not suite.failures) or not suite.passed:
        suite.fail(f"ended with status {status}: {text.strip()[-400:]}")
    return suite


def run_java() -> Suite:
    java, reports = FOLDER / "java", FOLDER / "logs/junit"
    junit = ":".join(map(str, sorted((java / "junit").iterdir())))
    jar, library = next(java.glob("viaduct-*.jar")), next(java.glob("libviaduct*.so"))
    reported = {
        "jar": jar,
        "classes": java / "classes",
        "junit": junit,
        "library": library,
        "examples": java / "examples",
    }
    (java / "java.junit").write_text("".join(f"{name}={value}\n" for name, value in reported.items()))
    for program in (FOLDER / "jvm/bin/java", FOLDER / "jvm/lib/jspawnhelper"):
        program.chmod(0o755)
    runner = [sys.executable, ROOT / "tests/java/run_junit.py", "--jdk", FOLDER / "jvm"]
    options = ["--details=summary", f"--reports-dir={reports}"]
    status, text = answer([*runner, *options], "junit", VIADUCT_BUILD_DIR=str(FOLDER))
    suite = Suite("Java")
    for report in reports.glob("TEST-junit-jupiter.xml"):
        count_junit(suite, report)
    return finish(suite, status, text)


def count_nunit(suite: Suite, report: Path) -> None:
    for case in ElementTree.parse(report).iter("test-case"):
        result = case.get("result")
        if result == "Success":
            suite.passed += 1
        elif result in ("Ignored", "Skipped", "NotRunnable"):
            suite.skipped += 1
            suite.notes.append(f"{case.get('name')}: {case.findtext('reason/message')}")
        else:
            suite.fail(f"{case.get('name')}: {(case.findtext('failure/message') or '').strip()[:300]}")


def run_csharp() -> Suite:
    csharp, mono, report = FOLDER / "csharp", FOLDER / "mono", FOLDER / "logs/nunit.xml"
    (mono / "bin/mono").chmod(0o755)
    settings = {
        "VIADUCT_SOURCE_DIR": str(ROOT),
        "VIADUCT_CSHARP_LIBRARY": str(csharp / "libviaduct_csharp.so"),
        "VIADUCT_CSHARP_DIR": str(csharp),
        "MONO_PATH": f"{mono}/lib/mono/4.5",
        "MONO_CFG_DIR": f"{mono}/etc",
        "PATH": f"{mono}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{FOLDER}/lib:{mono}/lib",
    }
    options = ["-nologo", "-noshadow", "-domain:None", f"-xml:{report}", csharp / "Viaduct.Tests.dll"]
    status, text = answer([mono / "bin/mono", FOLDER / "nunit/nunit-console.exe", *options], "nunit", **settings)
    suite = Suite("C#")
    if report.exists():
        count_nunit(suite, report)
    return finish(suite, status, text)


def run_example() -> Suite:
    """The job of bindings/c/examples whose frames go where the network is: onto the device."""
    program, suite = FOLDER / "bin/network_input", Suite("network_input")
    program.chmod(0o755)
    status, text = answer([program], program.name)
    if status == 0 and ": 0 bytes wrong" in text:
        suite.passed += 1
        suite.notes.append(text.strip())
    return finish(suite, status, text)


def run_all(json_file: Path | None) -> int:
    driver = driver_number()
    if driver is None:
        print("no CUDA driver with a device on this machine", file=sys.stderr)
        return 1
    folder = Folder((FOLDER / "commit").read_text().strip())
    (FOLDER / "logs").mkdir(exist_ok=True)
    print(f"{', '.join(nvidia_smi('name')) or 'a device'}; driver of CUDA {driver}; built from {folder.commit}")
    suites = []
    for run_one in (run_java, run_csharp, run_example):
        start = time.monotonic()
        suite = run_one()
        suite.seconds = round(time.monotonic() - start, 1)
        show(suite)
        suites.append(suite)
    report = make_report(folder, driver, suites)
    if json_file:
        json_file.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if report["failures"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("pack", help=f"make {FOLDER.relative_to(ROOT)}")
    run = commands.add_parser("run", help="run what it holds")
    run.add_argument("--json", type=Path, help="also write machine, driver, commit, counts and failures to this file")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        return pack() or 0
    return run_all(arguments.json)


if __name__ == "__main__":
    sys.exit(main())
