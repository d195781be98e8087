#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cudart/watch.h"

extern char** environ;

namespace tw::cli {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const Environment& added) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; variable++) {
    const std::string text = *variable;
    bool replaced = false;
    for (const auto& [name, value] : added) replaced |= text.starts_with(name + "=");
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

// For a program that this process waits for: it ends with us, even where we are killed.
std::vector<std::string> environment_of_child(Environment added) {
  added.emplace_back(cudart::kParentVariable, std::to_string(getpid()));
  return environment_with(added);
}

void redirect(posix_spawn_file_actions_t& actions, Output output) {
  if (output == Output::dropped)
    for (const int number : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0);
  else if (output == Output::on_stderr)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
}

Error cannot_start(const std::string& path, int error) {
  return Error{.message = fmt::format("cannot be started: {}", strerror(error)), .file = path};
}

}  // namespace

int end_like(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  return 128 + number;
}

Result<int> run_to_end(const std::vector<std::string>& arguments) {
  const std::vector<char*> argv = pointers(arguments);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return cannot_start(arguments[0], error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Error replace_process(const std::vector<std::string>& arguments, const Environment& added) {
  const std::vector<std::string> environment = environment_with(added);
  execve(arguments[0].c_str(), pointers(arguments).data(), pointers(environment).data());
  return cannot_start(arguments[0], errno);
}

Result<int> run_with_timeout(const std::vector<std::string>& arguments, const Environment& added,
                             double seconds) {
  const Result<int> status = run_and_wait(arguments, added, seconds);
  if (!status) return status.error();
  return end_like(*status);
}

Result<int> run_and_wait(const std::vector<std::string>& arguments, const Environment& added,
                         double seconds, Output output) {
  constexpr double kForever = 1e9;
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&watched, number);
  sigprocmask(SIG_BLOCK, &watched, &before);

  const std::vector<std::string> environment = environment_of_child(added);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  redirect(actions, output);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0].c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return cannot_start(arguments[0], error);

  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
  };
  double deadline = now() + (seconds > 0 ? seconds : kForever);
  bool over = false;
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (!over) return status;
      const bool reported = WIFEXITED(status) && WEXITSTATUS(status) == cudart::kTimeoutStatus;
      if (!reported)
        fmt::print(stderr, "tilewright: time is over after {} s; no kernel was running\n", seconds);
      return cudart::kTimeoutStatus << 8;  // as waitpid gives an exit status
    }
    const double left = deadline - now();
    if (left <= 0) {
      kill(child, over ? SIGKILL : cudart::timeout_signal());
      over = true;
      deadline = now() + 2;
      continue;
    }
    const timespec wait = {time_t(left), long((left - std::floor(left)) * 1e9)};
    siginfo_t info;
    const int number = sigtimedwait(&watched, &info, &wait);
    // What a terminal sends goes to the program by itself; what somebody sends to us is passed on.
    if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL) kill(child, number);
  }
}

Result<int> run_reading(const std::vector<std::string>& arguments, const Environment& added,
                        double seconds, int read_end, int write_end,
                        const std::function<void(std::string_view)>& on_text, Output output) {
  const std::vector<std::string> environment = environment_of_child(added);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  redirect(actions, output);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0].c_str(), &actions, nullptr,
                                pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(write_end);
  if (error != 0) return cannot_start(arguments[0], error);
  // What the terminal's Ctrl-C sends goes to the program; we stay and report.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
  };
  double deadline = seconds > 0 ? now() + seconds : 0;
  bool over = false, ended = false, closed = false;
  int status = 0;
  std::vector<char> buffer(1 << 16);
  // Until the program has ended and the pipe is empty or has no writer left (a child of the program
  // may live on; the program itself may close the pipe early).
  while (!ended || !closed) {
    pollfd poll_read = {read_end, POLLIN, 0};
    const int ready = poll(&poll_read, closed ? 0 : 1, ended ? 0 : 50);
    if (ready > 0) {
      const ssize_t n = read(read_end, buffer.data(), buffer.size());
      if (n > 0) {
        on_text({buffer.data(), size_t(n)});
        continue;
      }
      if (n == 0) closed = true;
    }
    if (ended && ready == 0) break;
    if (!ended && waitpid(child, &status, WNOHANG) == child) ended = true;
    if (!ended && deadline != 0 && now() > deadline) {
      kill(child, over ? SIGKILL : cudart::timeout_signal());
      over = true;
      deadline = now() + 2;
    }
  }
  if (over) return cudart::kTimeoutStatus << 8;
  return status;
}

}  // namespace tw::cli
