# Compiles separate_main.cu and separate_other.cu apart, links them with -rdc=true and runs the program.
execute_process(COMMAND ${NVCC} -std=c++17 -rdc=true -cudart shared -gencode arch=compute_90,code=compute_90
  ${FOLDER}/separate_main.cu ${FOLDER}/separate_other.cu -o ${PROGRAM}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status STREQUAL 0)
  message(FATAL_ERROR "nvcc: ${status}\n${output}\n${errors}")
endif()
execute_process(COMMAND ${TILEWRIGHT} run ${PROGRAM} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status STREQUAL 0)
  message(FATAL_ERROR "exit status ${status}\nstdout:\n${output}\nstderr:\n${errors}")
endif()
