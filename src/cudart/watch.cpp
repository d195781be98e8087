#include "cudart/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cudart/diagnose.h"
#include "cudart/runtime.h"

namespace tw::cudart {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuietTime = std::chrono::seconds(2);
constexpr int kRefreshMs = 250;

int pipe_ends[2] = {-1, -1};
std::thread* watcher = nullptr;

void on_signal(int number) {
  const char byte = number == SIGINT ? 'i' : 't';
  const ssize_t ignored = write(pipe_ends[1], &byte, 1);
  (void)ignored;
}

std::string seconds_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min {:02.0f} s", double(int(seconds) / 60), double(int(seconds) % 60));
}

std::string bar(const Scheduler::Running& kernel, Clock::time_point now) {
  constexpr int kWidth = 30;
  const double elapsed = std::chrono::duration<double>(now - kernel.started_at).count();
  const double part = kernel.ctas ? double(kernel.ctas_done) / double(kernel.ctas) : 0;
  const int filled = int(part * kWidth);
  std::string name = demangled(kernel.kernel);
  if (name.size() > 30) name = name.substr(0, 29) + "~";
  std::string text =
      fmt::format("{} [{}{}] {}/{} CTAs", name, std::string(size_t(filled), '#'),
                  std::string(size_t(kWidth - filled), '.'), kernel.ctas_done, kernel.ctas);
  if (kernel.ctas_done > 0) {
    const double rate = double(kernel.ctas_done) / elapsed;
    text += fmt::format(", {:.0f}/s, {} left", rate,
                        seconds_text(double(kernel.ctas - kernel.ctas_done) / rate));
  } else {
    text += fmt::format(", {}", seconds_text(elapsed));
  }
  return text;
}

void end_with_report(char reason) {
  Scheduler& scheduler = Runtime::get().scheduler;
  const std::string standing = scheduler.describe_unfinished();
  complain(std::string(reason == 'i' ? "interrupted; " : "time is over; ") +
           (standing.empty() ? "no kernel is running" : "unfinished:\n" + standing));
  _exit(reason == 'i' ? kInterruptStatus : kTimeoutStatus);
}

void watch() {
  const bool terminal = isatty(STDERR_FILENO);
  bool shown = false;
  while (true) {
    pollfd fd{pipe_ends[0], POLLIN, 0};
    const int count = poll(&fd, 1, terminal ? kRefreshMs : -1);
    char byte = 0;
    if (count > 0 && read(pipe_ends[0], &byte, 1) == 1) {
      if (shown) fmt::print(stderr, "\r\033[K");
      if (byte == 'q') return;
      end_with_report(byte);
    }
    if (!terminal) continue;
    const Clock::time_point now = Clock::now();
    std::vector<Scheduler::Running> kernels = Runtime::get().scheduler.running();
    const auto slow = std::find_if(kernels.begin(), kernels.end(),
                                   [&](const auto& k) { return now - k.started_at > kQuietTime; });
    if (slow != kernels.end()) {
      fmt::print(stderr, "\r\033[K{}", bar(*slow, now));
      fflush(stderr);
      shown = true;
    } else if (shown) {
      fmt::print(stderr, "\r\033[K");
      fflush(stderr);
      shown = false;
    }
  }
}

// Takes a signal unless the program did something else with it than the default.
void take(int number) {
  struct sigaction old = {};
  sigaction(number, nullptr, &old);
  if ((old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void end_with_parent() {
  const char* parent = std::getenv(kParentVariable);
  // Programs that the program starts have another parent, and live on.
  if (parent == nullptr || std::atol(parent) != getppid()) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::atol(parent) != getppid()) raise(SIGKILL);  // it went in between
}

void start_watch() {
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;  // out of descriptors: go on without
  // The watcher takes no signals of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher = new std::thread(watch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  take(SIGINT);
  take(timeout_signal());
}

void stop_watch() {
  if (watcher == nullptr) return;
  const ssize_t ignored = write(pipe_ends[1], "q", 1);
  (void)ignored;
  watcher->join();
}

}  // namespace tw::cudart
