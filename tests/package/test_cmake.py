"""What the build looks for."""

import subprocess
from pathlib import Path

from package_tools import ROOT

IN_TWO_FOLDERS = f"""
function(first_folder)
  include({ROOT}/pkgconfig/cuda.cmake)
endfunction()
function(second_folder)
  include({ROOT}/pkgconfig/cuda.cmake)
  viaduct_find_cuda_headers(found)
  message("found: ${{found}}")
endfunction()
first_folder()
second_folder()
"""


def test_cudas_headers_are_looked_for_by_the_second_folder_as_by_the_first(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    script = tmp_path / "look.cmake"
    script.write_text(IN_TWO_FOLDERS)
    command = ["cmake", f"-DVIADUCT_CUDA_INCLUDE_DIR={nowhere}", "-P", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "found: " in done.stderr and str(nowhere) not in done.stderr
