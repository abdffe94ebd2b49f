"""How tests start the ranks of an MPI job."""

from __future__ import annotations

import shutil

import pytest

# For a machine without a network, as root, with fewer cores than ranks; what is not Open MPI does not read them.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def launcher() -> str:
    found = shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec")
    return found
