# Project-wide compile settings and the one helper that declares a layer of src/.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # every layer also ends up in libcudart.so
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(TILEWRIGHT_WERROR "Treat warnings as errors" OFF)
set(TILEWRIGHT_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

# Warnings, sanitizers and the floating-point contract (no contraction: results are the PTX's own).
add_library(tilewright_options INTERFACE)
target_compile_options(tilewright_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-psabi -ffp-contract=off -fvisibility=hidden>)
if(TILEWRIGHT_WERROR)
  target_compile_options(tilewright_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(TILEWRIGHT_SANITIZE)
  # A program may hand any number to a runtime call that takes an enumeration: not a defect of ours.
  target_compile_options(tilewright_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize=enum -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(tilewright_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()

# tilewright_layer(NAME [DEPENDS layer...]): the static library tw_NAME of src/NAME/*.cpp.
# Layers may depend only on layers listed before them in src/CMakeLists.txt.
function(tilewright_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  set(type STATIC)
  set(scope PUBLIC)
  if(NOT ARG_SOURCES)  # headers only
    set(type INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(tw_${name} ${type} ${ARG_SOURCES})
  target_include_directories(tw_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tw_${name} ${scope} tilewright_options ${ARG_DEPENDS})
endfunction()

# For layers whose headers include <regex>: with a sanitizer, GCC 12 takes parts of its automaton for uninitialised (GCC
# bugs 105562 and 80635: false).
function(tilewright_uses_regex name)
  if(TILEWRIGHT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tw_${name} PUBLIC -Wno-maybe-uninitialized)
  endif()
endfunction()
