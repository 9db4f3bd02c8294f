# SPDX-License-Identifier: Apache-2.0
# trainhook_compiled_library(<name> INCLUDE <folder> SOURCES <folders and .ipp files below include/trainhook> LINK <targets>
#   [DEFINITIONS <definitions>]): the static library trainhook::<name>, made from the library's own .ipp files, one source
# file for each of SOURCES, in which a plus sign joins what goes into the same one. Used by the build and, from the installed
# package, by every project that finds it.
function(trainhook_compiled_library name)
  if(TARGET trainhook::${name})
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "INCLUDE" "SOURCES;LINK;DEFINITIONS")
  set(sources)
  foreach(source IN LISTS arg_SOURCES)
    string(REPLACE "+" ";" joined "${source}")
    set(bodies)
    foreach(one IN LISTS joined)
      if(NOT one MATCHES "[.]ipp$")
        string(APPEND one /impl/*.ipp)
      endif()
      file(GLOB found CONFIGURE_DEPENDS ${arg_INCLUDE}/trainhook/${one})
      list(APPEND bodies ${found})
    endforeach()
    set(lines)
    foreach(body IN LISTS bodies)
      cmake_path(RELATIVE_PATH body BASE_DIRECTORY ${arg_INCLUDE})
      string(APPEND lines "#include <${body}>\n")
    endforeach()
    list(GET joined 0 file)
    string(REGEX REPLACE "/impl/|[.]ipp$" "_" file "${file}")
    string(MAKE_C_IDENTIFIER "${file}" file)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/trainhook_${name}/${file}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${lines}" @ONLY)
    list(APPEND sources ${file})
  endforeach()

  add_library(trainhook_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  add_library(trainhook::${name} ALIAS trainhook_${name})
  target_link_libraries(trainhook_${name} PUBLIC ${arg_LINK})
  target_compile_definitions(trainhook_${name} PUBLIC TRAINHOOK_SEPARATE_COMPILATION PRIVATE ${arg_DEFINITIONS})
  set_target_properties(trainhook_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # In a build for debugging, the user's own files are not optimised; the library is, or training would crawl.
  target_compile_options(trainhook_${name} PRIVATE
    $<$<OR:$<CONFIG:Debug>,$<CONFIG:>>:-O2> ${TRAINHOOK_COMPILE_OPTIONS})
endfunction()

# trainhook_compiled_libraries(<include folder>): all of them, as far as the header-only targets that they are made from exist.
function(trainhook_compiled_libraries include)
  trainhook_compiled_library(compiled INCLUDE ${include} LINK trainhook::trainhook
    SOURCES core proto io events graph graph/ops graph_def session data loop checkpoint hooks monitored estimator testing)
  if(TARGET trainhook::media)
    trainhook_compiled_library(media_compiled INCLUDE ${include} SOURCES media LINK trainhook::compiled trainhook::media)
  endif()
  if(TARGET trainhook::mpi)
    trainhook_compiled_library(mpi_compiled INCLUDE ${include} SOURCES mpi LINK trainhook::compiled trainhook::mpi)
  endif()
  if(TARGET trainhook::engine)
    # Kernels that take long to compile have a source file of their own, the others share some: parsing takes half of their
    # time. The library sees Eigen under a name of its own: its inline functions must not merge with those of a user's file
    # that is built for another processor.
    file(GLOB kernels CONFIGURE_DEPENDS RELATIVE ${include}/trainhook ${include}/trainhook/engine/kernels/impl/*.ipp)
    set(own ${kernels})
    list(FILTER own INCLUDE REGEX "/(array|math|matmul|nn|partition|reduction|selection|sparse_training|training)[.]ipp$")
    list(REMOVE_ITEM kernels ${own})
    set(place 0)
    foreach(kernel IN LISTS kernels)
      list(APPEND shared${place} ${kernel})
      math(EXPR place "(${place} + 1) % 5")
    endforeach()
    foreach(place RANGE 4)
      list(JOIN shared${place} + shared${place})
    endforeach()
    trainhook_compiled_library(engine_compiled INCLUDE ${include} SOURCES engine ${own} ${shared0} ${shared1} ${shared2} ${shared3} ${shared4}
      LINK trainhook::compiled trainhook::media_compiled trainhook::engine DEFINITIONS Eigen=trainhook_eigen)
  endif()
endfunction()
