#include "observe/counters/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdlib>

#include "observe/counters/counting_observer.h"

namespace tw::counters {
namespace {

void write_all(int file, const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(file, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the reader drops the unfinished line
    done += size_t(n);
  }
}

}  // namespace

Result<emu::ObserverSource*> source_from_environment(const model::DeviceSpec& device,
                                                     uint32_t ordinal) {
  const char* path = std::getenv(kProfileVariable);
  if (path == nullptr || *path == '\0') return static_cast<emu::ObserverSource*>(nullptr);
  std::optional<std::regex> kernels;
  if (const char* text = std::getenv(kKernelsVariable); text != nullptr && *text != '\0') {
    try {
      kernels.emplace(text);
    } catch (const std::regex_error& e) {
      return Error{.message =
                       std::string(kKernelsVariable) + " is no regular expression: " + e.what()};
    }
  }
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0)
    return Error{.message = std::string("cannot be opened for writing: ") + strerror(errno),
                 .file = path};
  return new CountingSource(
      device, [file](const std::string& line) { write_all(file, line); }, std::move(kernels),
      ordinal);
}

}  // namespace tw::counters
