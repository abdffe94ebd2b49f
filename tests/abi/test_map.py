"""The map of the code, docs/inside/map.md: it shows every room of the sources, and the arrows between them."""

import re

from abi_tools import ROOT
from test_rooms import ARROWS, PRIVATE, PYTHON_ARROWS

MAP = (ROOT / "docs/inside/map.md").read_text()
PICTURE = MAP.split("```text\n")[1].split("```")[0]
ROWS = {row[1]: row[2] for row in re.finditer(r"^\| `([^`|]+)` \|(.*)\|$", MAP, re.MULTILINE)}

# Folders at the top of src: what the picture shows.
FOLDERS = {room.split("/")[0] for room in ARROWS}

# Rooms that the row of the room above names, as private folders.
NAMED_IN_A_ROW = PRIVATE["copy"]


def rooms_of(table, prefix):
    return {path.removeprefix(prefix).strip("/") for path in table if (path + "/").startswith(prefix + "/")}


def arrows_of(folder):
    """The folders that this one's rooms may include, without the core, which everything calls."""
    rooms = [targets for room, targets in ARROWS.items() if room.split("/")[0] == folder]
    return {target.split("/")[0] for targets in rooms for target in targets} - {folder, "core"}


def test_the_picture_shows_every_folder():
    assert set(re.findall(r"src/(\w+)", PICTURE)) == FOLDERS


def test_the_picture_draws_every_arrow():
    drawn = dict(re.findall(r"\+-- src/(\w+) .*: calls (.*)", PICTURE))
    assert set(drawn) == FOLDERS - {"api", "core", "cuda"}
    for folder, names in drawn.items():
        assert set(re.findall(r"\w+", names)) - {"and"} == arrows_of(folder), folder


def test_the_table_has_a_row_for_every_room():
    assert rooms_of(ROWS, "src") == set(ARROWS) - NAMED_IN_A_ROW


def test_the_row_of_a_room_names_its_private_folders():
    named = {f"copy/{name}" for name in re.findall(r"`(\w+)/`", ROWS["src/copy"])}
    assert named == NAMED_IN_A_ROW


def test_the_table_has_a_row_for_every_room_of_the_python_module():
    assert rooms_of(ROWS, "bindings/python/src") - {""} == set(PYTHON_ARROWS) - {"top"}
