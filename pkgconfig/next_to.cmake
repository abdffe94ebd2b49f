# viaduct_install_next_to(DESTINATION COMPONENT): installs the library as one file under the name that the loader asks for,
# since wheels, jars and nupkgs hold no links. `cmake --install --strip` strips it as it does in every other package.
function(viaduct_install_next_to destination component)
  install(TARGETS viaduct
    LIBRARY DESTINATION "${destination}" COMPONENT ${component} NAMELINK_SKIP EXCLUDE_FROM_ALL
    FILE_SET HEADERS DESTINATION "${destination}" COMPONENT ${component}-headers EXCLUDE_FROM_ALL)
  install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${destination}\")
    file(RENAME \"\${folder}/$<TARGET_FILE_NAME:viaduct>\" \"\${folder}/$<TARGET_SONAME_FILE_NAME:viaduct>\")"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
