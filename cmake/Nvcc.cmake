# TILEWRIGHT_NVCC: the nvcc that compiles the CUDA programs of the tests and is the first choice of
# the command (empty: none found). Searched anew at each configuration, unless set by the user.
include_guard(GLOBAL)
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/find_nvcc
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
if(status EQUAL 2)
  message(FATAL_ERROR "TILEWRIGHT_NVCC in the environment names no nvcc that runs")
endif()
if(NOT DEFINED CACHE{TILEWRIGHT_NVCC} OR "$CACHE{TILEWRIGHT_NVCC}" STREQUAL ""
   OR NOT EXISTS "$CACHE{TILEWRIGHT_NVCC}")
  set(TILEWRIGHT_NVCC "${found}" CACHE FILEPATH "nvcc, CUDA 12 or later" FORCE)
endif()
unset(found)
unset(status)
