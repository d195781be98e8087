# docs/runtime.md is what the table says.
execute_process(COMMAND ${CMAKE_COMMAND} -DTABLE=${ROOT}/src/cudart/api.txt -DOUT=${OUT} -P ${ROOT}/cmake/RuntimeTable.cmake
  RESULT_VARIABLE status)
file(READ ${OUT} made)
file(READ ${ROOT}/docs/runtime.md kept)
if(NOT status EQUAL 0 OR NOT made STREQUAL kept)
  message(FATAL_ERROR "docs/runtime.md is not up to date: cmake --build build/release --target runtime_doc")
endif()
