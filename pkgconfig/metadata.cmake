# What every package says of itself, as pyproject.toml has it, which pip reads too: VIADUCT_LICENSE, an SPDX expression, and
# VIADUCT_HOMEPAGE, the project's address. Packages leave out what is empty.

function(viaduct_read_metadata)
  file(READ "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../pyproject.toml" text)
  foreach(field IN ITEMS LICENSE:license HOMEPAGE:Homepage)
    string(REPLACE ":" ";" field "${field}")
    list(GET field 0 variable)
    list(GET field 1 name)
    if(text MATCHES "\n${name} = \"([^\"]*)\"")
      set(VIADUCT_${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    else()
      set(VIADUCT_${variable} "" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# viaduct_write_pom(FILE): Maven's description of the jar, of PROJECT_VERSION and PROJECT_DESCRIPTION
function(viaduct_write_pom file)
  set(pom_details "")
  if(VIADUCT_LICENSE)
    string(APPEND pom_details "  <licenses>\n    <license>\n      <name>${VIADUCT_LICENSE}</name>\n"
      "      <url>https://spdx.org/licenses/</url>\n    </license>\n  </licenses>\n")
  endif()
  if(VIADUCT_HOMEPAGE)
    string(APPEND pom_details "  <url>${VIADUCT_HOMEPAGE}</url>\n  <scm>\n"
      "    <connection>scm:git:${VIADUCT_HOMEPAGE}</connection>\n"
      "    <developerConnection>scm:git:${VIADUCT_HOMEPAGE}</developerConnection>\n"
      "    <url>${VIADUCT_HOMEPAGE}</url>\n  </scm>\n")
  endif()
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../bindings/java/pom.xml.in" "${file}" @ONLY)
endfunction()

viaduct_read_metadata()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/../pyproject.toml")
# A name and an address, without which Debian has no package.
set(VIADUCT_MAINTAINER "Viaduct <maintainers@viaduct.invalid>")
