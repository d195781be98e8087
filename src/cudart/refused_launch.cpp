#include "cudart/refused_launch.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "cudart/diagnose.h"
#include "cudart/host_observer.h"

namespace tw::cudart {
namespace {

constexpr int kRefused = 2;  // as the command exits for a program that it cannot run

std::atomic<uint64_t> unasked{0};
thread_local bool drops_error = false;
pid_t watched = 0;  // a child by fork has refused nothing

void change_status(int status, void*) {
  const uint64_t launches = unasked.load();
  if (status != 0 || launches == 0 || getpid() != watched) return;
  std::fflush(nullptr);  // what the C library would do next
  complain(fmt::format(
      "{} launch{} could not run and the program did not ask for the error (cudaGetLastError): its "
      "results are not to be trusted, and the exit status is not 0",
      launches, launches == 1 ? "" : "es"));
  _exit(kRefused);
}

}  // namespace

void launch_drops_its_error() { drops_error = true; }
void launch_is_over() { drops_error = false; }
void launch_was_refused() {
  if (drops_error) ++unasked;
  if (HostObserver* observer = host_observer()) observer->launch_refused();
}
void refusal_was_asked_for() { unasked = 0; }
void watch_exit_status() {
  watched = getpid();
  on_exit(change_status, nullptr);
}

}  // namespace tw::cudart
