// The command line of every ladder program:
//   --m M --n N --k K   one size instead of the built-in list (those not given are 256)
//   --no-time           leave out what differs between machines (times, rates, rounding errors)
//   --repeat R          timed launches per size; the shortest counts (default 3)
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tw::ladder {

struct Options {
  int m = 256;
  int n = 256;
  int k = 256;
  bool one_size = false;  // a dimension was given
  bool time = true;
  int repeat = 3;
};

[[noreturn]] inline void usage_error(const char* program, const char* dimensions,
                                     const char* problem, const char* argument) {
  std::fprintf(stderr, "%s: %s '%s'\nusage: %s", program, problem, argument, program);
  for (const char* d = dimensions; *d != 0; ++d) std::fprintf(stderr, " [--%c COUNT]", *d);
  std::fprintf(stderr, " [--no-time] [--repeat COUNT]\n");
  std::exit(2);
}

// `dimensions`: the letters of the dimensions this program has, for instance "mnk". Wrong arguments
// end the program with status 2 and the usage.
inline Options parse_options(int argc, char** argv, const char* dimensions) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    if (std::strcmp(argument, "--no-time") == 0) {
      options.time = false;
      continue;
    }
    int* value = nullptr;
    if (std::strcmp(argument, "--repeat") == 0) value = &options.repeat;
    if (std::strlen(argument) == 3 && std::strncmp(argument, "--", 2) == 0 &&
        std::strchr(dimensions, argument[2]) != nullptr) {
      value = argument[2] == 'm' ? &options.m : argument[2] == 'n' ? &options.n : &options.k;
      options.one_size = true;
    }
    if (value == nullptr) usage_error(argv[0], dimensions, "unknown argument", argument);
    if (++i == argc) usage_error(argv[0], dimensions, "a number must follow", argument);
    char* end = nullptr;
    const long number = std::strtol(argv[i], &end, 10);
    if (end == argv[i] || *end != 0 || number < 0 || number > 0x7fffffffL)
      usage_error(argv[0], dimensions, "not a count:", argv[i]);
    *value = static_cast<int>(number);
  }
  if (options.repeat < 1) usage_error(argv[0], dimensions, "--repeat must be at least", "1");
  return options;
}

}  // namespace tw::ladder
