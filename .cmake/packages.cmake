# SPDX-License-Identifier: Apache-2.0
# What is installed beside the headers and the CMake package: files for pkg-config; the libraries, and the command `checkpoint`, each a component
# that only `cmake --install build --component <its name>` installs. The Debian package libtrainhook-dev has the libraries, too, trainhook-checkpoint
# the command; `cmake --build build --target deb` builds both and makes the packages.
# The libraries of mpi/ and torch/ are in none, or MPI and LibTorch would have to be installed with it; projects make them of the sources.

# What users' files include and link beside trainhook, as pkg-config calls it.
set(trainhook_requires_trainhook fmt)
set(trainhook_requires_media libpng zlib)
set(trainhook_requires_engine eigen3)

# trainhook_pkg_config(<name> <folder> [LIBRARIES <flag>...] [DEFINITIONS <flag>...] [REQUIRES <name>...] [INSTALL <argument of install>...]):
# <name>.pc, whose prefix is where it lies.
function(trainhook_pkg_config name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBRARIES;DEFINITIONS;REQUIRES;INSTALL")
  foreach(list IN ITEMS LIBRARIES DEFINITIONS REQUIRES)
    list(JOIN arg_${list} " " arg_${list})
  endforeach()
  string(REGEX REPLACE "[^/]+" ".." up ${folder})
  configure_file(${PROJECT_SOURCE_DIR}/.cmake/trainhook.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${folder} ${arg_INSTALL})
endfunction()

trainhook_pkg_config(trainhook-headers ${CMAKE_INSTALL_DATADIR}/pkgconfig REQUIRES fmt)

# The target names what it packs; the generator for make would build everything first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} VERBATIM)
set(on_demand COMPONENT compiled EXCLUDE_FROM_ALL)
set(packed ${trainhook_modules})
list(REMOVE_ITEM packed mpi torch)
list(JOIN packed "|" any_packed)
foreach(module IN ITEMS trainhook ${packed})
  if(NOT TARGET trainhook::${module})
    continue()
  endif()
  get_target_property(library trainhook::${module} ALIASED_TARGET)
  add_dependencies(deb ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS ${library} EXPORT trainhook-prebuilt-${module} ARCHIVE ${on_demand})
  install(EXPORT trainhook-prebuilt-${module} NAMESPACE trainhook:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trainhook ${on_demand})

  get_target_property(requires ${library} INTERFACE_LINK_LIBRARIES)
  list(FILTER requires INCLUDE REGEX "^trainhook::(trainhook|${any_packed})$")
  list(TRANSFORM requires REPLACE "^trainhook::" "trainhook-")
  list(TRANSFORM requires REPLACE "^trainhook-trainhook$" trainhook)
  string(REPLACE _ - name ${library})
  trainhook_pkg_config(${name} ${CMAKE_INSTALL_LIBDIR}/pkgconfig REQUIRES ${requires} ${trainhook_requires_${module}} INSTALL ${on_demand}
    LIBRARIES -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -l${library} DEFINITIONS -DTRAINHOOK_SEPARATE_COMPILATION)
  if(module STREQUAL trainhook OR module IN_LIST trainhook_modules_of_0.2)  # as it was called then
    trainhook_pkg_config(${name}-compiled ${CMAKE_INSTALL_LIBDIR}/pkgconfig REQUIRES ${name} INSTALL ${on_demand})
  endif()
endforeach()

# What Debian wants in each package: its licence, which is in each Debian.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/copyright @ONLY CONTENT "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: the authors of trainhook
License: Apache-2.0
 On Debian systems, the text of this licence is in /usr/share/common-licenses/Apache-2.0.
")
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtrainhook-dev ${on_demand})

set(CPACK_COMPONENTS_ALL headers compiled)
if(TARGET checkpoint)
  set(on_demand COMPONENT checkpoint EXCLUDE_FROM_ALL)
  add_dependencies(deb checkpoint)
  target_link_options(checkpoint PRIVATE $<$<CONFIG:Release>:-s>)
  install(PROGRAMS $<TARGET_FILE:checkpoint> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME trainhook-checkpoint ${on_demand})
  install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trainhook-checkpoint ${on_demand})
  list(APPEND CPACK_COMPONENTS_ALL checkpoint)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_CONTACT "the authors of trainhook <authors@trainhook.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own

find_package(fmt QUIET)  # for its version: the compiled libraries work with no other
math(EXPR next_fmt "${fmt_VERSION_MAJOR} + 1")
set(CPACK_COMPONENT_HEADERS_GROUP library)
set(CPACK_COMPONENT_COMPILED_GROUP library)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtrainhook-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libfmt-dev (>= ${fmt_VERSION_MAJOR}), libfmt-dev (<< ${next_fmt}), libprotozero-dev, \
librandom123-dev, libeigen3-dev (>= 3.4), zlib1g-dev, libpng-dev, nlohmann-json3-dev")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "libopenmpi-dev, libtorch-dev, trainhook-checkpoint")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "hooks, checkpoints and exact resume for training loops in C++
trainhook adds to a training loop in C++ what surrounds the training itself:
hooks, checkpoints, exact resume, event files for TensorBoard, and recovery.
It rebuilds TensorFlow 1's MonitoredSession and comes with a small graph
engine on Eigen.

This package has the headers and the compiled libraries, which are static.")

set(CPACK_DEBIAN_CHECKPOINT_PACKAGE_NAME trainhook-checkpoint)
set(CPACK_DEBIAN_CHECKPOINT_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CHECKPOINT_DESCRIPTION "command for checkpoints of trainhook and TensorFlow
Lists, shows, verifies, compares, prunes, averages and converts checkpoints.")
find_program(TRAINHOOK_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(TRAINHOOK_SHLIBDEPS)
if(TRAINHOOK_SHLIBDEPS)
  set(CPACK_DEBIAN_CHECKPOINT_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
