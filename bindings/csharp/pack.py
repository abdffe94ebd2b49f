"""Makes a .nupkg of a folder that is laid out like one: `pack.py FOLDER OUTPUT_FOLDER`.

A nupkg is a zip archive with the description at its top, and beside it what the Open Packaging Conventions ask for.
"""

import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
MANIFEST = "http://schemas.microsoft.com/packaging/2010/07/manifest"

# The same content makes the same archive: zip's earliest moment, and one mode for every file.
MOMENT = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16


def content_types(files: list[Path]) -> str:
    suffixes = {file.suffix.removeprefix(".") for file in files} | {"rels", "nuspec"}
    known = {"rels": "application/vnd.openxmlformats-package.relationships+xml"}
    defaults = "".join(
        f'<Default Extension="{suffix}" ContentType="{known.get(suffix, "application/octet")}" />'
        for suffix in sorted(suffixes)
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{TYPES}">{defaults}</Types>\n'


def relations(description: str) -> str:
    target = f'Type="{MANIFEST}" Target="/{description}" Id="manifest"'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Relationships xmlns="{RELATIONS}"><Relationship {target} /></Relationships>\n'


def described(nuspec: Path) -> tuple[str, str]:
    """The package's id and version."""
    found = {node.tag.rpartition("}")[2]: node.text or "" for node in ET.parse(nuspec).iter()}
    return found["id"], found["version"]


def pack(folder: Path, output: Path) -> Path:
    (nuspec,) = folder.glob("*.nuspec")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    package = output / "{}.{}.nupkg".format(*described(nuspec))
    output.mkdir(parents=True, exist_ok=True)
    contents = {"[Content_Types].xml": content_types(files).encode(), "_rels/.rels": relations(nuspec.name).encode()}
    contents |= {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.external_attr = MODE
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return package


if __name__ == "__main__":
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
