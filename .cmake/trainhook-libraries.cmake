# SPDX-License-Identifier: Apache-2.0
set(TRAINHOOK_WIDTHS all CACHE STRING "Vector widths of the compiled kernels on x86-64: all (sse2, avx2 and avx512; the program chooses), native (of this machine's processor), or one (of the compiler's options)")
set_property(CACHE TRAINHOOK_WIDTHS PROPERTY STRINGS all native one)
if(NOT TRAINHOOK_WIDTHS MATCHES "^(all|native|one)$")
  message(FATAL_ERROR "trainhook: TRAINHOOK_WIDTHS is all, native or one, not '${TRAINHOOK_WIDTHS}'")
endif()

# trainhook_find_widths(<variable>): the widths that the engine has beside that of the compiler's options: avx2 and avx512, or none if there is to be
# one, if options choose a processor or instrument the code, or if the tools that hide symbols are not there. Nor with libc++, which takes an error
# that a hidden kernel throws for one of another type.
function(trainhook_find_widths variable)
  set(${variable} "" PARENT_SCOPE)
  get_directory_property(directory_options COMPILE_OPTIONS)
  set(options "${CMAKE_CXX_FLAGS} ${directory_options} ${TRAINHOOK_COMPILE_OPTIONS}")
  if(CMAKE_BUILD_TYPE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
    string(APPEND options " ${CMAKE_CXX_FLAGS_${build_type}}")
  endif()
  if(NOT TRAINHOOK_WIDTHS STREQUAL all OR options MATCHES "-(m(arch|avx|sse)|fsanitize|flto|fprofile|-coverage|stdlib=libc[+][+])"
      OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8 OR NOT CMAKE_SYSTEM_NAME STREQUAL Linux)
    return()
  endif()
  execute_process(COMMAND ${CMAKE_LINKER} --help OUTPUT_VARIABLE help ERROR_QUIET)
  if(NOT CMAKE_OBJCOPY OR NOT help MATCHES "--force-group-allocation")
    message(STATUS "trainhook: kernels of one vector width, because the linker or objcopy cannot hide symbols")
    return()
  endif()
  set(${variable} avx2 avx512 PARENT_SCOPE)
endfunction()

# trainhook_wide_object(<library> <width> <source>...): puts the sources, compiled for the vectors of a width, into the library as one object that shows
# the linker nothing but trainhook_vector_kernels_<width>. What is inline in them must not be merged with that of other files, which would then hold
# instructions that an older processor lacks; for the same reason no link-time optimisation sees into them.
function(trainhook_wide_object library width)
  set(objects ${library}_${width})
  add_library(${objects} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  set(options -mavx2 -mfma)
  if(width STREQUAL avx512)
    list(APPEND options -mavx512f -mavx512dq -mavx512bw -mavx512vl)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND options -fno-gnu-unique)
  endif()
  target_compile_options(${objects} PRIVATE ${options} $<TARGET_PROPERTY:${library},COMPILE_OPTIONS>)
  target_link_libraries(${objects} PRIVATE $<TARGET_PROPERTY:${library},LINK_LIBRARIES>)
  target_compile_definitions(${objects} PRIVATE $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${library}/kernels_${width}${CMAKE_CXX_OUTPUT_EXTENSION})
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} $<TARGET_OBJECTS:${objects}>
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=trainhook_vector_kernels ${object}
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym trainhook_vector_kernels=trainhook_vector_kernels_${width} ${object}
    DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${library} PRIVATE ${object})
endfunction()

# g++ 12 spends a fifth of the time on collecting garbage unless it may keep 400 MB.
set(trainhook_spared $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>)

# trainhook_library(<name> INCLUDE <folder> [SOURCES <lists>...] [FAST_SOURCES <lists>...] [VECTOR_SOURCES <lists>...] [PRODUCT_SOURCES <lists>...]
# LINK <target>... [DEFINITIONS <definition>...]): the static library trainhook::<name>, made from the library's own lists of bodies,
# include/trainhook/<list>.hpp, or the one that is in the folder `installed`; nothing if a target that it links is not there, or its bodies are not.
# Lists that are joined by a + are one source file, so that the headers of both are read once. SOURCES are compiled with -O2, the others with -O3, which
# kernels gain from (a cast by 3); VECTOR_SOURCES and PRODUCT_SOURCES once for each vector width. Only products may round a multiplication and an addition
# as one, which is twice as fast there; elsewhere each operation rounds, so that an update has TensorFlow's bits on any processor. Used by the build and,
# from the installed package, by every project that finds it.
function(trainhook_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "INCLUDE" "SOURCES;FAST_SOURCES;VECTOR_SOURCES;PRODUCT_SOURCES;LINK;DEFINITIONS")
  string(REGEX MATCH "[^+;]+" first "${arg_SOURCES};${arg_FAST_SOURCES}")
  if(TARGET trainhook::${name} OR NOT EXISTS ${arg_INCLUDE}/trainhook/${first}.hpp)
    return()
  endif()
  foreach(linked IN LISTS arg_LINK)
    if(NOT TARGET ${linked})
      return()
    endif()
  endforeach()
  if(EXISTS "${installed}/trainhook-prebuilt-${name}.cmake")
    include("${installed}/trainhook-prebuilt-${name}.cmake")
    return()
  endif()
  set(library trainhook_${name})
  if(name STREQUAL trainhook)
    set(library trainhook)
  endif()
  add_library(${library} STATIC EXCLUDE_FROM_ALL)
  add_library(trainhook::${name} ALIAS ${library})
  # All files of a library that sees Eigen, since what is inline in Eigen depends on the width; the others gain nothing.
  set(native)
  if(TRAINHOOK_WIDTHS STREQUAL native AND arg_FAST_SOURCES AND NOT CMAKE_CROSSCOMPILING)
    set(native -march=native)
  endif()
  set(vector_sources)
  foreach(lists IN LISTS arg_SOURCES arg_FAST_SOURCES arg_VECTOR_SOURCES arg_PRODUCT_SOURCES)
    string(REPLACE + ";" parts "${lists}")
    set(content)
    foreach(list IN LISTS parts)
      if(NOT EXISTS ${arg_INCLUDE}/trainhook/${list}.hpp)
        message(FATAL_ERROR "trainhook: there is no ${list}.hpp in ${arg_INCLUDE}/trainhook; install trainhook again")
      endif()
      string(APPEND content "#include <trainhook/${list}.hpp>\n")
    endforeach()
    list(GET parts 0 source)
    string(REPLACE "/impl/src" "" source "${source}")
    string(MAKE_C_IDENTIFIER "${source}" source)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/trainhook_sources/${source}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "${content}" @ONLY)
    # In every kind of build: in one for debugging, the user's own files are not optimised; the library is, or training would crawl.
    set(optimisation -O3)
    if(lists IN_LIST arg_SOURCES)
      set(optimisation -O2)
    endif()
    if(NOT lists IN_LIST arg_PRODUCT_SOURCES)
      list(APPEND optimisation -ffp-contract=off)
    endif()
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${optimisation};${native};${TRAINHOOK_COMPILE_OPTIONS}")
    target_sources(${library} PRIVATE ${source})
    if(lists IN_LIST arg_VECTOR_SOURCES OR lists IN_LIST arg_PRODUCT_SOURCES)
      list(APPEND vector_sources ${source})
    endif()
  endforeach()
  target_compile_options(${library} PRIVATE ${trainhook_spared})
  target_link_libraries(${library} PUBLIC ${arg_LINK})
  target_compile_definitions(${library} PUBLIC TRAINHOOK_SEPARATE_COMPILATION PRIVATE ${arg_DEFINITIONS})
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(vector_sources)
    trainhook_find_widths(widths)
    if(widths)
      target_compile_definitions(${library} PRIVATE TRAINHOOK_WIDTHS)
    endif()
    foreach(width IN LISTS widths)
      trainhook_wide_object(${library} ${width} ${vector_sources})
    endforeach()
  endif()
endfunction()

set(trainhook_modules_of_0.2 model ranks compat estimator testing media engine mpi torch exchange)
set(trainhook_modules data model ranks compat estimator testing media engine compat_kernels mpi torch exchange watch)  # in the order in which they link

# trainhook_libraries(<include folder> <installed>): the core library and its modules; those that are installed are taken from that folder, "" if none is.
function(trainhook_libraries include installed)
  trainhook_library(trainhook INCLUDE ${include} LINK trainhook::header_only SOURCES
    core/impl/src+proto/impl/src+io/impl/src+events/impl/src graph/impl/src+graph/ops/impl/src+session/impl/src
    loop/impl/src+monitored/impl/src checkpoint/impl/src hooks/impl/src)
  trainhook_library(data INCLUDE ${include} LINK trainhook::trainhook SOURCES data/impl/src)
  trainhook_library(model INCLUDE ${include} LINK trainhook::data SOURCES model/impl/src_1+model/graph_def/impl/src+model/ops/impl/src)
  trainhook_library(ranks INCLUDE ${include} LINK trainhook::trainhook SOURCES ranks/impl/src_1 ranks/testing/impl/src)
  trainhook_library(compat INCLUDE ${include} LINK trainhook::model SOURCES compat/impl/src_1+compat/ops/impl/src)
  trainhook_library(estimator INCLUDE ${include} LINK trainhook::compat SOURCES estimator/impl/src)
  trainhook_library(testing INCLUDE ${include} LINK trainhook::trainhook SOURCES testing/impl/src)
  trainhook_library(media INCLUDE ${include} LINK trainhook::data PNG::PNG ZLIB::ZLIB SOURCES media/impl/src)
  trainhook_library(mpi INCLUDE ${include} LINK trainhook::ranks trainhook::model MPI::MPI_CXX SOURCES mpi/impl/src)
  trainhook_library(torch INCLUDE ${include} LINK trainhook::trainhook trainhook::libtorch SOURCES torch/impl/src)
  trainhook_library(exchange INCLUDE ${include} LINK trainhook::trainhook trainhook::json_headers SOURCES exchange/impl/src)
  trainhook_library(watch INCLUDE ${include} LINK trainhook::trainhook SOURCES watch/impl/src)
  # It sees Eigen under a name of its own: its inline functions must not merge with those of a user's file that is built for another processor.
  set(media trainhook::media)
  set(without_media)
  if(NOT TARGET trainhook::media)  # only image summaries need it
    set(media)
    set(without_media TRAINHOOK_WITHOUT_MEDIA)
    set(installed "")
  endif()
  trainhook_library(engine INCLUDE ${include} LINK trainhook::model trainhook::eigen ${media}
    SOURCES engine/impl/src_1+engine/kernels/impl/src_2 FAST_SOURCES engine/kernels/impl/src_1
    VECTOR_SOURCES engine/kernels/impl/src_3 engine/kernels/impl/src_5 PRODUCT_SOURCES engine/kernels/impl/src_4
    DEFINITIONS Eigen=trainhook_eigen ${without_media})
  trainhook_library(compat_kernels INCLUDE ${include} LINK trainhook::compat trainhook::engine FAST_SOURCES compat/kernels/impl/src
    DEFINITIONS Eigen=trainhook_eigen)

  # As they were called in 0.2, where `trainhook::engine` and the like were header-only.
  foreach(name IN ITEMS trainhook ${trainhook_modules_of_0.2})
    string(REPLACE trainhook::trainhook_compiled trainhook::compiled old trainhook::${name}_compiled)
    if(TARGET trainhook::${name} AND NOT TARGET ${old})
      add_library(${old} INTERFACE IMPORTED GLOBAL)
      set_target_properties(${old} PROPERTIES INTERFACE_LINK_LIBRARIES trainhook::${name} DEPRECATION "Link trainhook::${name}.")
    endif()
  endforeach()
endfunction()
