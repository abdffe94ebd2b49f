"""How often tests repeat themselves: `./dev test` takes a small part, all other runs take the whole count."""

import os

QUICK = "VIADUCT_QUICK_TESTS" in os.environ


def repeats(count: int, quick: int | None = None) -> int:
    """The whole count, or a tenth in `./dev test`, unless it says how many."""
    if not QUICK:
        return count
    return -(-count // 10) if quick is None else quick
