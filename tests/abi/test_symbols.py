"""What the library exports is what the header declares, and what was agreed on."""

import re
from pathlib import Path

import pytest
from abi_tools import functions, library, run

AGREED = Path(__file__).parent / "symbols.txt"


@pytest.fixture(scope="module")
def exported() -> dict[str, str]:
    """The library's dynamic symbols, each with its version."""
    if not library().exists():
        pytest.skip(f"no library at {library()}: build it first")
    lines = run("nm", "-D", "--defined-only", "--with-symbol-versions", library()).splitlines()
    names = [line.split()[-1] for line in lines if line.split()[-2] != "A"]
    return dict(re.split("@@?", name, maxsplit=1) if "@" in name else (name, "") for name in names)


def test_every_declared_function_is_exported_and_nothing_else(exported: dict[str, str]) -> None:
    assert sorted(exported) == sorted(functions())


def test_every_exported_name_has_the_prefix(exported: dict[str, str]) -> None:
    assert [name for name in exported if not name.startswith("via_")] == []


def test_every_symbol_has_the_version_it_was_agreed_to_have(exported: dict[str, str]) -> None:
    """A symbol, once released, stays; a new one comes with a version node of its own minor release."""
    assert [f"{name} {version}" for name, version in sorted(exported.items())] == AGREED.read_text().splitlines()


def test_every_version_node_names_a_minor_release(exported: dict[str, str]) -> None:
    assert {version for version in exported.values() if not re.fullmatch(r"VIADUCT_1\.\d+", version)} == set()


def test_the_library_is_known_by_its_major_version() -> None:
    if not library().exists():
        pytest.skip(f"no library at {library()}: build it first")
    dynamic = run("readelf", "-dW", library())
    assert "[libviaduct.so.1]" in dynamic
    assert "NODELETE" in dynamic


def test_the_library_needs_the_c_and_cxx_runtimes_and_no_more() -> None:
    """No CUDA library above all: one binary serves machines with and without a GPU."""
    if not library().exists():
        pytest.skip(f"no library at {library()}: build it first")
    needed = set(re.findall(r"NEEDED.*\[(.+?)\.so", run("readelf", "-dW", library())))
    assert needed <= {
        "libstdc++",
        "libgcc_s",
        "libc",
        "libdl",
        "libm",
        "libpthread",
        "ld-linux-x86-64",
        "ld-linux-aarch64",
    }


def test_the_library_believes_no_environment_that_another_user_set_and_guards_no_local_static() -> None:
    """secure_getenv for every variable; a child of fork would wait for the guard of a static that is being made."""
    if not library().exists():
        pytest.skip(f"no library at {library()}: build it first")
    taken = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--undefined-only", library()).splitlines()}
    assert "pthread_mutex_lock" in taken
    assert taken & {"getenv", "__cxa_guard_acquire"} == set()


# Those of one transfer, which no child of fork has; and what glibc begins anew in a child.
OTHER_LOCKS = {"core/base/lock.hpp", "core/base/first_failure.hpp", "file/buffer_pool.hpp", "file/open_file.hpp"}


def test_every_lock_outside_the_driver_s_room_is_one_that_fork_leaves_in_order() -> None:
    """gpu.forks tries those that it meets; this finds a new one that it does not meet."""
    source = Path(__file__).parents[2] / "src"
    kinds = re.compile(
        r"std::(?:\w+_)?mutex \w+[;{]|pthread_(?:mutex|rwlock|spinlock|once)_t \w+ ?[;={]|once_flag \w+;"
    )
    found = {
        str(path.relative_to(source))
        for path in sorted(source.glob("**/*.[ch]pp"))
        if "cuda" not in path.relative_to(source).parts and kinds.search(path.read_text())
    }
    assert "core/base/lock.hpp" in found
    assert found <= OTHER_LOCKS
