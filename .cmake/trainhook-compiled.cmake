# SPDX-License-Identifier: Apache-2.0
# trainhook_compiled_library(<name> OF <target> INCLUDE <folder> SOURCES <list>... [FAST_SOURCES <list>...] [LINK <target>...] [DEFINITIONS <definition>...]):
# the static library trainhook::<name>, made from the library's own lists of bodies, include/trainhook/<list>.hpp, one source file for each; nothing if
# there is no header-only target trainhook::<target>. FAST_SOURCES are compiled with -O3, which kernels gain from, the others with -O2. Used by the
# build and, from the installed package, by every project that finds it.
function(trainhook_compiled_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OF;INCLUDE" "SOURCES;FAST_SOURCES;LINK;DEFINITIONS")
  if(TARGET trainhook::${name} OR NOT TARGET trainhook::${arg_OF})
    return()
  endif()
  add_library(trainhook_${name} STATIC EXCLUDE_FROM_ALL)
  add_library(trainhook::${name} ALIAS trainhook_${name})
  foreach(list IN LISTS arg_SOURCES arg_FAST_SOURCES)
    if(NOT EXISTS ${arg_INCLUDE}/trainhook/${list}.hpp)
      message(FATAL_ERROR "trainhook: there is no ${list}.hpp in ${arg_INCLUDE}/trainhook; install trainhook again")
    endif()
    string(REPLACE "/impl/src" "" source "${list}")
    string(MAKE_C_IDENTIFIER "${source}" source)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/trainhook_${name}/${source}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <trainhook/${list}.hpp>\n" @ONLY)
    # In every kind of build: in one for debugging, the user's own files are not optimised; the library is, or training would crawl.
    set(optimisation -O2)
    if(list IN_LIST arg_FAST_SOURCES)
      set(optimisation -O3)
    endif()
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${optimisation};${TRAINHOOK_COMPILE_OPTIONS}")
    target_sources(trainhook_${name} PRIVATE ${source})
  endforeach()
  target_link_libraries(trainhook_${name} PUBLIC ${arg_LINK} trainhook::${arg_OF})
  target_compile_definitions(trainhook_${name} PUBLIC TRAINHOOK_SEPARATE_COMPILATION PRIVATE ${arg_DEFINITIONS})
  set_target_properties(trainhook_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# trainhook_compiled_libraries(<include folder>): all of them, as far as their header-only targets exist.
function(trainhook_compiled_libraries include)
  trainhook_compiled_library(compiled OF trainhook INCLUDE ${include} SOURCES
    core/impl/src proto/impl/src io/impl/src events/impl/src graph/impl/src graph/ops/impl/src graph_def/impl/src session/impl/src
    data/impl/src loop/impl/src checkpoint/impl/src_1 checkpoint/impl/src_2 hooks/impl/src_1 hooks/impl/src_2 monitored/impl/src)
  trainhook_compiled_library(model_compiled OF model INCLUDE ${include} SOURCES model/impl/src_1 model/ops/impl/src_1 model/ops/impl/src_2
    LINK trainhook::compiled)
  trainhook_compiled_library(ranks_compiled OF ranks INCLUDE ${include} SOURCES ranks/impl/src_1 ranks/testing/impl/src LINK trainhook::compiled)
  trainhook_compiled_library(estimator_compiled OF estimator INCLUDE ${include} SOURCES estimator/impl/src LINK trainhook::model_compiled)
  trainhook_compiled_library(testing_compiled OF testing INCLUDE ${include} SOURCES testing/impl/src LINK trainhook::compiled)
  trainhook_compiled_library(media_compiled OF media INCLUDE ${include} SOURCES media/impl/src LINK trainhook::compiled)
  trainhook_compiled_library(mpi_compiled OF mpi INCLUDE ${include} SOURCES mpi/impl/src
    LINK trainhook::ranks_compiled trainhook::model_compiled)
  trainhook_compiled_library(torch_compiled OF torch INCLUDE ${include} SOURCES torch/impl/src LINK trainhook::compiled)
  trainhook_compiled_library(exchange_compiled OF exchange INCLUDE ${include} SOURCES exchange/impl/src LINK trainhook::compiled)
  # It sees Eigen under a name of its own: its inline functions must not merge with those of a user's file that is built for another processor.
  trainhook_compiled_library(engine_compiled OF engine INCLUDE ${include} SOURCES engine/impl/src_1
    FAST_SOURCES engine/kernels/impl/src_1 engine/kernels/impl/src_2 engine/kernels/impl/src_3 engine/kernels/impl/src_4
      engine/kernels/impl/src_5 engine/kernels/impl/src_6 engine/kernels/impl/src_7 engine/kernels/impl/src_8 engine/kernels/impl/src_9
    LINK trainhook::model_compiled trainhook::media_compiled DEFINITIONS Eigen=trainhook_eigen)
  trainhook_compiled_library(compat_compiled OF compat INCLUDE ${include} SOURCES compat/impl/src_1 compat/ops/impl/src
    FAST_SOURCES compat/kernels/impl/src LINK trainhook::engine_compiled DEFINITIONS Eigen=trainhook_eigen)
endfunction()
