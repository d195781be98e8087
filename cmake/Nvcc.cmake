# TILEWRIGHT_NVCC: the nvcc that compiles the CUDA programs of the tests and is the first choice of
# the command; TILEWRIGHT_CUDA_INCLUDE: the headers that belong to it. Empty and unset where there is
# none. Searched at configuration (scripts/find_nvcc knows where), unless the user sets TILEWRIGHT_NVCC.
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

# nvcc on the PATH may be a link or a wrapper in another folder, so nvcc itself says where its tree is.
if(TILEWRIGHT_NVCC)
  execute_process(COMMAND ${TILEWRIGHT_NVCC} -dryrun -x cu /dev/null
    OUTPUT_VARIABLE dryrun ERROR_VARIABLE dryrun)
  if(dryrun MATCHES "TOP=([^\n]*)")
    file(REAL_PATH ${CMAKE_MATCH_1}/include TILEWRIGHT_CUDA_INCLUDE)
  endif()
endif()
unset(found)
unset(status)
unset(dryrun)
