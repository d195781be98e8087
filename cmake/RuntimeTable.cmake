# Reads src/cudart/api.txt, the table of the CUDA runtime's calls.
#
#   tilewright_runtime_stubs(ABI OUT)   writes the stubs of the calls that ABI (12 or 13) exports and that
#                                       are not supported
#   cmake -DTABLE=... -DOUT=... -P RuntimeTable.cmake   writes docs/runtime.md (target `runtime_doc`)
#
# Tested by tests/e2e: every call of the table is exported, every declaration of the toolkit's header is in the
# table, and docs/runtime.md is up to date.

function(tilewright_runtime_rows table rows)
  file(STRINGS ${table} lines REGEX "^[^#]")
  set(${rows} ${lines} PARENT_SCOPE)
endfunction()

function(tilewright_runtime_stubs table abi out)
  tilewright_runtime_rows(${table} rows)
  set(text "// Generated from src/cudart/api.txt.\nnamespace tw::cudart {\nint not_supported(const char* call, const char* reason);\n}\n")
  foreach(row IN LISTS rows)
    if(row MATCHES "^([A-Za-z0-9_]+) +([a-z0-9]+) +no *(.*)$")
      set(name ${CMAKE_MATCH_1})
      set(row_abi ${CMAKE_MATCH_2})
      set(reason "${CMAKE_MATCH_3}")
      if(row_abi STREQUAL abi OR row_abi STREQUAL "both")
        string(APPEND text "extern \"C\" __attribute__((visibility(\"default\"))) int ${name}();\nint ${name}() { return tw::cudart::not_supported(\"${name}\", \"${reason}\"); }\n")
      endif()
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND TABLE)
  cmake_policy(VERSION 3.25)
  tilewright_runtime_rows(${TABLE} rows)
  set(yes 0)
  set(no 0)
  set(supported "")
  set(refused "")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^([A-Za-z0-9_]+) +([a-z0-9]+) +(yes|no) *(.*)$" matched "${row}")
    if(NOT matched)
      message(FATAL_ERROR "${TABLE}: this row is not `call abi yes|no reason`: ${row}")
    endif()
    set(abi "${CMAKE_MATCH_2}")
    if(abi STREQUAL "both")
      set(abi "12, 13")
    endif()
    if(CMAKE_MATCH_3 STREQUAL "yes")
      math(EXPR yes "${yes} + 1")
      string(APPEND supported "| `${CMAKE_MATCH_1}` | ${abi} |\n")
    else()
      math(EXPR no "${no} + 1")
      string(APPEND refused "| `${CMAKE_MATCH_1}` | ${abi} | ${CMAKE_MATCH_4} |\n")
    endif()
  endforeach()
  file(WRITE ${OUT} "<!-- Generated from src/cudart/api.txt by `cmake --build build/release --target runtime_doc`. -->
# The CUDA runtime: which calls are there

`libcudart.so.12` and `libcudart.so.13` export every call that NVIDIA's libraries export. ${yes} of them work;
the other ${no} return `cudaErrorNotSupported` and say so once on stderr, by name.

## Supported

| call | ABI |
|---|---|
${supported}
## Not supported

| call | ABI | reason |
|---|---|---|
${refused}")
endif()
