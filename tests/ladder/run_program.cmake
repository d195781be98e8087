# Runs one ladder program or example in the engine and compares what it prints with the output kept from a
# real GPU (tests/gpu/run_examples). Without kept output, only the exit status counts.
#
#   cmake -DTILEWRIGHT=command -DOPTIONS=list -DSOURCE=file.cu -DEXPECTED=file.txt -P run_program.cmake
execute_process(COMMAND ${TILEWRIGHT} run ${OPTIONS} ${SOURCE} -- --no-time
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE}: exit status ${status}\n${output}\n${errors}")
endif()
if(output STREQUAL "")
  message(FATAL_ERROR "${SOURCE}: it printed nothing")
endif()
if(NOT EXISTS ${EXPECTED})
  message(STATUS "no output of a real GPU is kept for ${SOURCE}; exit status 0\n${output}")
  return()
endif()
file(READ ${EXPECTED} expected)
string(REGEX REPLACE "(^|\n)#[^\n]*" "\\1" expected "${expected}")  # the lines that name card and driver
string(REGEX REPLACE "\n+" "\n" expected "\n${expected}")
string(REGEX REPLACE "\n+" "\n" output "\n${output}\nexit status ${status}\n")
if(NOT output STREQUAL expected)
  string(REPLACE "\n" ";" got_lines "${output}")
  string(REPLACE "\n" ";" expected_lines "${expected}")
  foreach(got want IN ZIP_LISTS got_lines expected_lines)
    if(NOT got STREQUAL want)
      message("expected: ${want}\ngot:      ${got}")
    endif()
  endforeach()
  message(FATAL_ERROR "${SOURCE}: the output differs from ${EXPECTED}")
endif()
