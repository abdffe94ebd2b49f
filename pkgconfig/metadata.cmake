# What every package says of itself. No licence has been chosen: VIADUCT_LICENSE, an SPDX expression, is the place
# where that is changed, and VIADUCT_HOMEPAGE the one for the project's address. Packages leave out what is empty. Of a wheel
# pyproject.toml has them (license, urls), which cannot be computed.
set(VIADUCT_LICENSE "")
set(VIADUCT_HOMEPAGE "")
