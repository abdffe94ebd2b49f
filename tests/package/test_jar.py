"""The jar, where nothing else is, with every JDK of this machine."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jar_tools import JDKS, install_jar, java, name_of, version_of
from package_tools import BUILD, ROOT, Shell

USE = """
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.viaduct.DType;
import org.viaduct.ViaArray;
import org.viaduct.Viaduct;

public class Use {
    public static void main(String[] arguments) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder()).putFloat(4, 7);
        try (ViaArray array = ViaArray.wrap(bytes, DType.FLOAT32, 2, 3);
                ViaArray transposed = ViaArray.empty(DType.FLOAT32, 3, 2)) {
            Viaduct.copy(transposed, array.transpose());
            System.out.println(Viaduct.version() + " " + transposed.buffer().getFloat(8));
        }
    }
}
"""

SEGMENTS = """
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import org.viaduct.DType;
import org.viaduct.InvalidArgumentException;
import org.viaduct.NeedsCopyException;
import org.viaduct.ShapeException;
import org.viaduct.ViaArray;
import org.viaduct.Viaduct;

public class Segments {
    static void refused(Class<?> expected, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException thrown) {
            System.out.println(expected.isInstance(thrown) ? thrown.getMessage() : thrown.toString());
            return;
        }
        System.out.println("not refused");
    }

    static MemorySegment copied(Arena arena) {
        MemorySegment floats = arena.allocate(24, 8);
        floats.setAtIndex(ValueLayout.JAVA_FLOAT, 1, 7);
        try (ViaArray wrapped = ViaArray.wrap(floats, DType.FLOAT32, 2, 3);
                ViaArray transposed = ViaArray.empty(DType.FLOAT32, 3, 2)) {
            Viaduct.copy(transposed, wrapped.transpose());
            System.out.println(wrapped.owner() == floats);
            System.out.println(wrapped.asReadOnly().segment().isReadOnly());
            refused(NeedsCopyException.class, () -> wrapped.transpose().segment(arena));
            return transposed.segment(arena);
        }
    }

    public static void main(String[] arguments) {
        MemorySegment kept;
        ByteBuffer bytes;
        try (Arena arena = Arena.ofConfined()) {
            kept = copied(arena);
            bytes = kept.asByteBuffer();
            System.out.println(ViaArray.wrap(bytes).size());
            System.out.println(kept.getAtIndex(ValueLayout.JAVA_FLOAT, 2) + " of " + kept.byteSize());
            System.out.println(Viaduct.stats().liveArrays() > 0);
            refused(ShapeException.class, () -> ViaArray.wrap(arena.allocate(4), DType.UINT8, 5));
        }
        refused(IllegalStateException.class, () -> kept.get(ValueLayout.JAVA_BYTE, 0));
        refused(InvalidArgumentException.class, () -> ViaArray.wrap(kept, DType.UINT8, 4));
        refused(InvalidArgumentException.class, () -> ViaArray.wrap(bytes, DType.UINT8, 4));
        refused(InvalidArgumentException.class, () -> ViaArray.wrap(MemorySegment.ofArray(new byte[4]), DType.UINT8, 4));
        try (ViaArray large = ViaArray.empty(DType.UINT8, 3L << 30)) {
            System.out.println(large.segment().byteSize());
        }
    }
}
"""

SEGMENTS_PRINTED = """\
true
true
array is ... with gaps or in another order; expected dense row-major elements
24
7.0 of 24
true
shape has the bytes 0 to 5 from the first element on; expected them within 0 to 4, which the buffer holds
Already closed
segment is of a closed arena; expected native memory of an arena that is open
buffer is of a closed arena; expected memory of an arena that is open
segment is on the heap; expected native memory of an arena that is open
3221225472
"""

FAIL = """
import org.viaduct.Viaduct;

public class Fail {
    public static void main(String[] arguments) {
        try {
            Viaduct.version();
        } catch (UnsatisfiedLinkError error) {
            System.out.println(error.getMessage());
        }
        Viaduct.version();
    }
}
"""


@pytest.fixture(scope="module")
def jar(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_jar(shell, tmp_path_factory.mktemp("jar"))


@pytest.fixture(params=JDKS, ids=name_of)
def jdk(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def program(shell: Shell, jar: Path, jdk: Path, tmp_path: Path) -> Path:
    """A user's program, compiled against the jar alone."""
    (tmp_path / "Use.java").write_text(USE)
    shell(jdk / "bin/javac", "-Xlint:all", "-Werror", "-cp", jar, "Use.java", cwd=tmp_path)
    return tmp_path


def unpack_libraries(jar: Path, folder: Path) -> Path:
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith((".so", ".so.1")):
                (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def test_the_jar_names_its_module_and_carries_the_library_and_the_pom(jar: Path, version: str) -> None:
    with zipfile.ZipFile(jar) as archive:
        names = archive.namelist()
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
        pom = ElementTree.fromstring(archive.read("META-INF/maven/org.viaduct/viaduct/pom.xml"))
    assert "Automatic-Module-Name: org.viaduct\r\n" in manifest
    assert f"Implementation-Version: {version}\r\n" in manifest
    libraries = sorted(Path(name).name for name in names if "/native/" in name and not name.endswith("/"))
    assert libraries == ["libviaduct.so.1", "libviaduct_java.so"]
    assert pom.findtext("{*}artifactId") == "viaduct" and pom.findtext("{*}version") == version
    assert (jar.parent / f"viaduct-{version}.pom").exists()


def test_the_jar_holds_the_libraries_of_another_processor_too(
    shell: Shell, jar: Path, jdk: Path, program: Path, tmp_path: Path, version_number: int
) -> None:
    """A build for AArch64 is one whose install rules give such files."""
    other = tmp_path / "build-aarch64"
    other.mkdir()
    for name in ("libviaduct.so.1", "libviaduct_java.so"):
        (other / name).write_bytes(b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + (183).to_bytes(2, "little"))
    rule = f'file(INSTALL DESTINATION "${{CMAKE_INSTALL_PREFIX}}" FILES "{other}/libviaduct.so.1" "{other}/libviaduct_java.so")'
    (other / "cmake_install.cmake").write_text(rule)
    made = tmp_path / "made"
    shell(sys.executable, ROOT / "pkgconfig/packages.py", BUILD, made, "jar", "--with", other)
    with zipfile.ZipFile(made / jar.name) as archive, zipfile.ZipFile(jar) as before:
        added = set(archive.namelist()) - set(before.namelist())
        assert (
            archive.read("org/viaduct/native/linux-aarch64/libviaduct.so.1") == (other / "libviaduct.so.1").read_bytes()
        )
    folder = "org/viaduct/native/linux-aarch64"
    assert added == {f"{folder}/libviaduct.so.1", f"{folder}/libviaduct_java.so"}
    assert shell(*java(jdk, "-cp", f"{made / jar.name}:.", "Use"), cwd=program) == f"{version_number} 7.0\n"


def test_the_jar_of_sources_holds_every_source(jar: Path) -> None:
    with zipfile.ZipFile(jar.with_name(jar.stem + "-sources.jar")) as archive:
        sources = {Path(name).stem for name in archive.namelist() if name.endswith(".java")}
    with zipfile.ZipFile(jar) as archive:
        classes = {Path(name).stem.split("$")[0] for name in archive.namelist() if name.endswith(".class")}
    assert classes <= sources and {"Native", "ViaConstants", "ViaArray"} <= classes


def test_the_libraries_in_the_jar_look_next_to_themselves_only(shell: Shell, jar: Path, tmp_path: Path) -> None:
    layer = unpack_libraries(jar, tmp_path) / "libviaduct_java.so"
    assert "[$ORIGIN]" in shell("readelf", "-d", layer)
    assert f"libviaduct.so.1 => {tmp_path}/libviaduct.so.1" in shell("ldd", layer)
    assert str(ROOT).encode() not in layer.read_bytes()


def test_a_program_runs_without_a_warning_and_leaves_nothing_behind(
    shell: Shell, jar: Path, jdk: Path, program: Path, version_number: int
) -> None:
    (program / "tmp").mkdir()
    printed = shell(*java(jdk, "-Djava.io.tmpdir=tmp", "-cp", f"{jar}:.", "Use"), cwd=program)
    assert printed == f"{version_number} 7.0\n"
    assert not list((program / "tmp").iterdir())


def test_a_module_requires_it_by_its_name(
    shell: Shell, jar: Path, jdk: Path, tmp_path: Path, version_number: int
) -> None:
    (tmp_path / "module-info.java").write_text("module user { requires org.viaduct; }")
    (tmp_path / "user").mkdir()
    (tmp_path / "user/Use.java").write_text("package user;\n" + USE)
    sources = ("module-info.java", "user/Use.java")
    shell(jdk / "bin/javac", "-p", jar, "-d", "classes", *sources, cwd=tmp_path)
    allowed = "--enable-native-access=org.viaduct"
    command = (jdk / "bin/java", allowed, "-p", f"{jar}:classes", "-m", "user/user.Use")
    printed = shell(*command, cwd=tmp_path).replace("WARNING: Using incubator modules: jdk.incubator.foreign\n", "")
    assert printed == f"{version_number} 7.0\n"


@pytest.mark.parametrize("named", ["", "libviaduct_java.so"])
def test_a_property_names_another_library(
    shell: Shell, jar: Path, jdk: Path, program: Path, version_number: int, named: str
) -> None:
    (program / "libraries").mkdir()
    folder = unpack_libraries(jar, program / "libraries")
    setting = f"-Dorg.viaduct.native={folder / named}"
    assert shell(*java(jdk, setting, "-cp", f"{jar}:.", "Use"), cwd=program) == f"{version_number} 7.0\n"


def test_later_jdks_exchange_memory_segments(shell: Shell, jar: Path, jdk: Path, tmp_path: Path) -> None:
    if version_of(jdk) < 22:
        pytest.skip(f"JDK {version_of(jdk)} has no java.lang.foreign; expected 22 or newer")
    (tmp_path / "Segments.java").write_text(SEGMENTS)
    shell(jdk / "bin/javac", "-Xlint:all", "-Werror", "-cp", jar, "Segments.java", cwd=tmp_path)
    printed = shell(*java(jdk, "-cp", f"{jar}:.", "Segments"), cwd=tmp_path)
    assert re.sub(r"array is .* with gaps", "array is ... with gaps", printed) == SEGMENTS_PRINTED


def test_what_later_jdks_see_is_like_what_the_oldest_sees(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        names = {name for name in archive.namelist() if name.endswith(".class")}
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
    later = {name for name in names if name.startswith("META-INF/versions/")}
    assert "Multi-Release: true\r\n" in manifest and later
    assert {name.removeprefix("META-INF/versions/22/") for name in later} <= names - later
    assert not any("java/lang" in name for name in names)


def test_the_documentation_is_that_of_later_jdks_too(jar: Path) -> None:
    with zipfile.ZipFile(jar.with_name(jar.stem + "-javadoc.jar")) as archive:
        page = archive.read("org/viaduct/ViaArray.html").decode()
    assert 'id="segment(java.lang.foreign.Arena)"' in page and 'id="buffer(long,long)"' in page


def failed(jar: Path, jdk: Path, folder: Path, *settings: str) -> tuple[str, str]:
    """What a program prints that cannot load the library, of the first use and of the second."""
    (folder / "Fail.java").write_text(FAIL)
    command = java(jdk, *settings, "-cp", jar, "Fail.java")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stdout, done.stderr


def test_a_library_that_does_not_load_is_reported_whole_and_again(jar: Path, jdk: Path, tmp_path: Path) -> None:
    broken = tmp_path / "libviaduct_java.so"
    broken.write_text("no library")
    first, second = failed(jar, jdk, tmp_path, f"-Dorg.viaduct.native={tmp_path}")
    for printed in (first, second):
        assert f"viaduct: {broken}, named by the system property org.viaduct.native, could not be loaded" in printed
        assert "file too short" in printed  # the system's own words
        assert "-Dorg.viaduct.native=PATH" in printed


def test_a_platform_that_the_jar_does_not_serve_is_named(jar: Path, jdk: Path, tmp_path: Path) -> None:
    first, _ = failed(jar, jdk, tmp_path, "-Dos.arch=pdp11")
    assert "the jar carries no native/linux-pdp11/libviaduct.so.1 for this platform" in first
