#include "cudart/refused_launch.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "cudart/diagnose.h"

namespace tw::cudart {
namespace {

constexpr int kRefused = 2;  // as the command exits for a program that it cannot run

std::atomic<uint64_t> unasked{0};

void change_status(int status, void*) {
  const uint64_t launches = unasked.load();
  if (status != 0 || launches == 0) return;
  std::fflush(nullptr);  // what the C library would do next
  complain(fmt::format(
      "{} launch{} could not run and the program did not ask for the error (cudaGetLastError): its "
      "results are not to be trusted; exit status {} instead of 0",
      launches, launches == 1 ? "" : "es", kRefused));
  _exit(kRefused);
}

}  // namespace

void launch_was_refused() { ++unasked; }
void refusal_was_asked_for() { unasked = 0; }
void watch_exit_status() { on_exit(change_status, nullptr); }

}  // namespace tw::cudart
