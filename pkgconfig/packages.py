"""Makes packages of a build tree: `packages.py BUILD OUTPUT [tarball|wheel|jar|nupkg]...`, all of them if none is named.

Every package holds the same native libraries, stripped. A package that this build or machine cannot make is left out
with a line that says why.
"""

import argparse
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The oldest glibc that pkgconfig/portable/portable.cmake links for.
PLATFORM = f"manylinux_2_28_{platform.machine()}"


class LeftOut(Exception):
    """Why a package is not made."""


def run(*command: object, cwd: Path = ROOT) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
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


def make_wheel(build: Path, output: Path) -> None:
    """scikit-build-core writes the metadata; it compiles nothing, for the libraries are here."""
    stage = fresh(build / "packages/wheel")
    shutil.copytree(ROOT / "bindings/python/viaduct", stage / "viaduct", ignore=shutil.ignore_patterns("__pycache__"))
    install(build, "python", stage)
    inside = stage.relative_to(ROOT)
    settings = {"wheel.cmake": "false", "wheel.platlib": "true", "wheel.packages": inside / "viaduct"}
    settings |= {"sdist.include": f"{inside}/**"}  # whatever git ignores is left out otherwise
    made = fresh(build / "packages/wheel-made")
    options = [f"-C{key}={value}" for key, value in settings.items()]
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, *options, ROOT)
    (wheel,) = made.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "-w", output, wheel)


def make_jar(build: Path, output: Path) -> None:
    if not (build / "java").is_dir():
        raise LeftOut("this build has no Java")
    run("cmake", "--install", build, "--component", "java", "--prefix", output)


def make_nupkg(build: Path, output: Path) -> None:
    project = build / "csharp/pack.txt"
    if not project.exists():
        raise LeftOut("there was no .NET SDK; what Mono compiles is not for .NET")
    stage = fresh(build / "packages/nupkg")
    install(build, "csharp", stage)
    run(*project.read_text().splitlines(), "--no-build", f"-p:NativeDirectory={stage}/", "--output", output)


MAKERS = {"tarball": make_tarball, "wheel": make_wheel, "jar": make_jar, "nupkg": make_nupkg}


def is_licensed() -> bool:
    text = (ROOT / "pkgconfig/metadata.cmake").read_text()
    return 'set(VIADUCT_LICENSE "")' not in text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("packages", nargs="*", choices=[[], *MAKERS])
    given = parser.parse_args()
    build, output = given.build.resolve(), given.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    for name in given.packages or MAKERS:
        try:
            MAKERS[name](build, output)
        except LeftOut as why:
            print(f"no {name}: {why}")
    if not is_licensed():
        print("no licence is named: VIADUCT_LICENSE in pkgconfig/metadata.cmake is empty")


if __name__ == "__main__":
    main()
