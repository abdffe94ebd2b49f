"""Makes packages of a build tree: `packages.py BUILD OUTPUT [tarball|wheel|jar|nupkg|deb]...`, all of them if none is named.
`--with TREE` names one for another processor, which has a tarball, a wheel and a deb of its own; the jar and the nupkg hold
the native libraries of all.

Every package holds the same native libraries, stripped. A package that this build or machine cannot make is left out
with a line that says why. OUTPUT/packages.json has the sizes, what auditwheel says, and twine and lintian where they are
installed, and which processors a jar or a nupkg serves.
The pages are made of a copy, tests/package/packages.json.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deb

ROOT = Path(__file__).resolve().parents[1]


class LeftOut(Exception):
    """Why a package is not made."""


def run(*command: object, cwd: Path = ROOT, **environment: str) -> None:
    words = [str(word) for word in command]
    env = os.environ | environment
    # A tarball has the modes of its folders as they were made, and root unpacks them so: everyone must be able to enter.
    done = subprocess.run(
        words, cwd=cwd, env=env, umask=0o022, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\nexited with {done.returncode}:\n{done.stdout}")


def install(build: Path, component: str, prefix: Path) -> None:
    run("cmake", "--install", build, "--component", component, "--prefix", prefix, "--strip")


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def make_tarball(build: Path, output: Path) -> None:
    run("cpack", "--config", build / "CPackConfig.cmake", "-G", "TGZ", "-B", output)
    shutil.rmtree(output / "_CPack_Packages")


def version_and_machine(build: Path) -> tuple[str, str]:
    """Of what a tree builds: a cross compiler's is for another processor than this machine's."""
    name = r'CPACK_PACKAGE_FILE_NAME "viaduct-([\d.]+)-linux-(\w+)"'
    found = re.search(name, (build / "CPackConfig.cmake").read_text())
    assert found
    return found[1], found[2]


def auditwheel(machine: str) -> list[str]:
    """It knows the platforms of the machine that it runs on alone, and else asks nothing of that machine."""
    as_there = (
        f"import platform; platform.machine = lambda: {machine!r}; from auditwheel.main import main; exit(main())"
    )
    return [sys.executable, "-c", as_there]


def make_wheel(build: Path, output: Path) -> None:
    """scikit-build-core writes the metadata; it compiles nothing, for the libraries are here."""
    _, machine = version_and_machine(build)
    stage = fresh(build / "packages/wheel")
    shutil.copytree(ROOT / "bindings/python/viaduct", stage / "viaduct", ignore=shutil.ignore_patterns("__pycache__"))
    install(build, "python", stage)
    inside = stage.relative_to(ROOT)
    settings = {"wheel.cmake": "false", "wheel.platlib": "true", "wheel.packages": inside / "viaduct"}
    settings |= {"sdist.include": f"{inside}/**"}  # whatever git ignores is left out otherwise
    made = fresh(build / "packages/wheel-made")
    options = [f"-C{key}={value}" for key, value in settings.items()]
    build_wheel = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, *options, ROOT)
    run(*build_wheel, _PYTHON_HOST_PLATFORM=f"linux-{machine}")
    (wheel,) = made.glob("*.whl")
    # The oldest glibc that pkgconfig/portable/portable.cmake links for.
    platform = f"manylinux_2_28_{machine}"
    run(*auditwheel(machine), "repair", "--plat", platform, "--only-plat", "-w", output, wheel)


def make_jar(build: Path, output: Path, others: Sequence[Path] = ()) -> None:
    if not (build / "java").is_dir():
        raise LeftOut("this build has no Java")
    run("cmake", "--install", build, "--component", "java", "--prefix", output)
    jars = [path for path in output.glob("viaduct-*.jar") if not path.stem.endswith(("-sources", "-javadoc"))]
    with zipfile.ZipFile(max(jars, key=lambda path: path.stat().st_mtime), "a", zipfile.ZIP_DEFLATED) as jar:
        for other in others:
            stage = fresh(build / "packages/jar" / other.name)
            install(other, "java-native", stage)
            for library in sorted(stage.glob("*.so*")):
                jar.write(library, f"org/viaduct/native/linux-{processor_of(library)}/{library.name}")


def processor_of(library: Path) -> str:
    return processor_of_elf(library.read_bytes())


def processor_of_elf(content: bytes) -> str:
    """As Linux names it; of a file's ELF header."""
    return {62: "x86_64", 183: "aarch64"}[int.from_bytes(content[18:20], "little")]


def make_nupkg(build: Path, output: Path, others: Sequence[Path] = ()) -> None:
    calls = build / "csharp/pack.txt"
    if not calls.exists():
        raise LeftOut("there was no .NET SDK; what Mono compiles is not for .NET")
    stage = fresh(build / "packages/nupkg")
    for tree in (build, *others):
        install(tree, "csharp", stage)
    run(*calls.read_text().splitlines(), "--no-build", f"-p:NativeDirectory={stage}/", "--output", output)


def make_deb(build: Path, output: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        raise LeftOut("dpkg-deb is not in PATH")
    version, machine = version_and_machine(build)
    homepage = project().get("urls", {}).get("Homepage", "")
    release = deb.Release(version, machine, maintainer(), project().get("license", ""), homepage)
    stage = fresh(build / "packages/deb")
    stage_library(build, machine, stage)
    stage_development(build, machine, stage)
    stage_python(build, stage)
    names = (ROOT / "tests/abi/symbols.txt").read_text().split()
    for package in deb.packages_of(release, [f"{name}@{node}" for name, node in zip(names[::2], names[1::2])]):
        deb.make(package, stage / package.name, release, output)


def stage_library(build: Path, machine: str, stage: Path) -> None:
    """Debian's libraries lie in a folder of their architecture's name."""
    install(build, "runtime", stage / "runtime")
    (found,) = (stage / "runtime").iterdir()
    (stage / "libviaduct1/usr/lib").mkdir(parents=True)
    found.rename(stage / f"libviaduct1/usr/lib/{machine}-linux-gnu")


def stage_development(build: Path, machine: str, stage: Path) -> None:
    """The files that say where the others lie are written anew; nothing is compiled."""
    tree, libdir = stage / "tree", f"lib/{machine}-linux-gnu"
    options = {"INSTALL_PREFIX": "/usr", "INSTALL_LIBDIR": libdir, "BUILD_TYPE": "Release"}
    off = [f"-DVIADUCT_{name}=OFF" for name in ("EXAMPLES", "WITH_CUDA")]
    run(
        "cmake",
        "-S",
        ROOT,
        "-B",
        tree,
        *off,
        f"-DVIADUCT_PACKAGE_PROCESSOR={machine}",
        *(f"-DCMAKE_{key}={value}" for key, value in options.items()),
    )
    for file in (build / "src").glob("libviaduct.so*"):
        shutil.copy(file, tree / "src", follow_symlinks=False)
    run("cmake", "--install", tree, "--component", "development", DESTDIR=str(stage / "libviaduct-dev"))


def stage_python(build: Path, stage: Path) -> None:
    """What the wheel holds; the library is the one that the other package installs."""
    make_wheel(build, fresh(stage / "wheel"))
    (wheel,) = (stage / "wheel").iterdir()
    folder = stage / "python3-viaduct/usr/lib/python3/dist-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (folder / "viaduct/libviaduct.so.1").unlink()
    (record,) = folder.glob("*.dist-info/RECORD")
    record.unlink()
    run("patchelf", "--remove-rpath", folder / "viaduct/_viaduct.abi3.so")


# One for all processors; of the others there is one for each.
FOR_ALL_PROCESSORS = ("jar", "nupkg")
MAKERS = {"tarball": make_tarball, "wheel": make_wheel, "jar": make_jar, "nupkg": make_nupkg, "deb": make_deb}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def maintainer() -> str:
    found = re.search(r'set\(VIADUCT_MAINTAINER "(.*)"\)', (ROOT / "pkgconfig/metadata.cmake").read_text())
    assert found
    return found[1]


def make(name: str, *arguments: Path | Sequence[Path]) -> None:
    try:
        MAKERS[name](*arguments)
    except LeftOut as why:
        print(f"no {name}: {why}")


def described(package: Path) -> dict[str, object]:
    """A package's size, and of a wheel the library's and what the checkers of an index say."""
    row: dict[str, object] = {"file": package.name, "bytes": package.stat().st_size}
    if package.suffix == ".whl":
        shown = output_of(*auditwheel(package.stem.partition("manylinux_2_28_")[2]), "show", package)
        row["auditwheel"] = re.findall(r'"(manylinux_\w+)"', " ".join(shown.split()))[-1]
        if importlib.util.find_spec("twine"):
            shown = output_of(sys.executable, "-m", "twine", "check", package)
            row["twine"] = re.findall(r"PASSED|FAILED", shown)[-1]
        with zipfile.ZipFile(package) as wheel:
            row["libviaduct.so.1"] = wheel.getinfo("viaduct/libviaduct.so.1").file_size
    if package.suffix == ".deb" and shutil.which("lintian"):
        row["lintian"] = said_by_lintian(package)
    if package.suffix in (".jar", ".nupkg") and (natives := natives_in(package)):
        row["natives"] = sorted({processor_of_elf(content) for content in natives})
    return row


def said_by_lintian(package: Path) -> str:
    words = ["lintian", "--allow-root", str(package)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = re.findall("^([EW]):", done.stdout, re.MULTILINE)
    return f"{found.count('E')} errors, {found.count('W')} warnings"


def natives_in(package: Path) -> list[bytes]:
    with zipfile.ZipFile(package) as archive:
        return [archive.read(name) for name in archive.namelist() if ".so" in name]


def output_of(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout


def write_report(build: Path, output: Path) -> None:
    archives = sorted(path for path in output.iterdir() if path.suffix in (".gz", ".whl", ".jar", ".nupkg", ".deb"))
    cache = (build / "CMakeCache.txt").read_text() if (build / "CMakeCache.txt").exists() else ""
    kernels = re.search(r"^VIADUCT_KERNEL_ARCHITECTURES:\w+=(.*)$", cache, re.MULTILINE)
    report = {"kernels": kernels[1] if kernels else "", "packages": [described(path) for path in archives]}
    (output / "packages.json").write_text(json.dumps(report, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("packages", nargs="*", choices=[[], *MAKERS])
    parser.add_argument("--with", dest="others", type=Path, action="append", default=[], metavar="TREE")
    given = parser.parse_args()
    build, output = given.build.resolve(), given.output.resolve()
    others = [tree.resolve() for tree in given.others]
    output.mkdir(parents=True, exist_ok=True)
    for name in given.packages or MAKERS:
        if name in FOR_ALL_PROCESSORS:
            make(name, build, output, others)
        else:
            for tree in (build, *others):
                make(name, tree, output)
    write_report(build, output)
    if "license" not in project():
        print("no licence is named: `license` in pyproject.toml is absent")


if __name__ == "__main__":
    main()
