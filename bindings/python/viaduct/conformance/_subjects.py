"""All rows, in the order in which they run."""

from __future__ import annotations

from . import _ask_rows, _cuda_rows, _export_rows, _import_rows, _table_rows
from ._rows import Row


def rows_for(device: str) -> list[Row]:
    subjects = (_import_rows.rows(), _ask_rows.ROWS, _export_rows.ROWS, _table_rows.ROWS, _cuda_rows.ROWS)
    return [row for rows in subjects for row in rows if row.device in ("", device)]
