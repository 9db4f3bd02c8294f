# SPDX-License-Identifier: Apache-2.0
# The target docs: reference documentation in <build>/docs/html. Any warning of doxygen is an error.
find_program(TRAINHOOK_DOXYGEN doxygen)
mark_as_advanced(TRAINHOOK_DOXYGEN)
if(TRAINHOOK_DOXYGEN)
  set(trainhook_docs_dir ${PROJECT_BINARY_DIR}/docs)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${trainhook_docs_dir}/Doxyfile @ONLY)
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${trainhook_docs_dir}/html
    COMMAND ${TRAINHOOK_DOXYGEN} ${trainhook_docs_dir}/Doxyfile
    COMMAND ${CMAKE_COMMAND} -E echo "docs: ${trainhook_docs_dir}/html/index.html"
    COMMENT "Reference documentation" VERBATIM)
else()
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E echo "docs: doxygen was not found. On Debian: apt-get install doxygen, then configure again"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
