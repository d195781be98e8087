#include "cudart/diagnose.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>

#include "cudart/errors.h"

namespace tw::cudart {

void complain(std::string_view text) {
  std::string line = "tilewright: ";
  line += text;
  line += '\n';
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (written <= 0) return;  // stderr is closed: nobody to tell
    done += size_t(written);
  }
}

void complain_once(std::string_view key, std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>>* said =
      new std::set<std::string, std::less<>>;  // never destroyed: used at exit
  {
    const std::lock_guard lock(mutex);
    if (!said->emplace(key).second) return;
  }
  complain(text);
}

std::string fmt_error(std::string_view what, const Error& error) {
  const Error bare{.message = fmt::format("{}: {}", what, error.message),
                   .file = error.file,
                   .line = error.line,
                   .column = error.column};
  return bare.to_string();
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result = text;
  std::free(text);
  return result;
}

std::string fault_text(const emu::Fault& fault, cudaError_t error) {
  std::string text;
  if (!fault.file.empty())
    text += fault.line ? fmt::format("{}:{}: ", fault.file, fault.line) : fault.file + ": ";
  text += fmt::format("error: {} [{}]\n", fault.message.empty() ? error_text(error) : fault.message,
                      error_name(error));
  if (!fault.instruction.empty()) text += fmt::format("    {}\n", fault.instruction);
  text += fmt::format("  in kernel '{}', block ({},{},{}), thread ({},{},{})",
                      demangled(fault.kernel), fault.block[0], fault.block[1], fault.block[2],
                      fault.thread[0], fault.thread[1], fault.thread[2]);
  return text;
}

}  // namespace tw::cudart
