from pathlib import Path

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage

# No release has an address yet: the repository is the one that this file is part of.
CHECKOUT = Path(__file__).resolve().parents[6]


class Viaduct(CMakePackage):
    """Memory that already exists, used by any other runtime without a copy: strided arrays of host and GPU memory for C,
    C++ and Fortran, exchanged by DLPack, array interfaces and Arrow."""

    homepage = CHECKOUT.as_uri()
    git = CHECKOUT.as_uri()

    version("1.0.0", branch="main")

    variant("fortran", default=False, description="Build the Fortran module")
    variant("cuda", default=False, description="Copy to and from NVIDIA GPUs; the driver is opened at run time")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("dlpack@1.2:", type="build")
    depends_on("cuda@12:", type="build", when="+cuda")
    depends_on("cmocka", type="test")
    depends_on("pkgconfig", type="test")

    requires("platform=linux")

    def cmake_args(self):
        args = [
            self.define_from_variant("VIADUCT_FORTRAN", "fortran"),
            self.define_from_variant("VIADUCT_WITH_CUDA", "cuda"),
            self.define("VIADUCT_DLPACK_INCLUDE_DIR", self.spec["dlpack"].prefix.include),
            self.define("VIADUCT_EXAMPLES", False),
            self.define("VIADUCT_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("VIADUCT_CUDA_INCLUDE_DIR", self.spec["cuda"].prefix.include))
        return args
