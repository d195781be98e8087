#include "cudart/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace tw::cudart {
namespace {

Result<uint32_t> parse_count(const char* variable, const std::string& text, uint32_t low,
                             uint32_t high) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
    return Error{.message = fmt::format("{}='{}': a whole number from {} to {} is expected",
                                        variable, text, low, high)};
  return value;
}

}  // namespace

Result<uint64_t> parse_bytes(const std::string& text) {
  uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const Error bad{
      .message = fmt::format("'{}' is no size: write for example 512M, 4G or 1073741824", text)};
  if (error != std::errc()) return bad;
  std::string suffix(end, last);
  for (char& c : suffix) c = char(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  int shift = 0;
  if (suffix.empty() || suffix == "B")
    shift = 0;
  else if (suffix == "K" || suffix == "KB" || suffix == "KIB")
    shift = 10;
  else if (suffix == "M" || suffix == "MB" || suffix == "MIB")
    shift = 20;
  else if (suffix == "G" || suffix == "GB" || suffix == "GIB")
    shift = 30;
  else if (suffix == "T" || suffix == "TB" || suffix == "TIB")
    shift = 40;
  else
    return bad;
  if (value > (UINT64_MAX >> shift)) return bad;
  return value << shift;
}

Result<Settings> Settings::from_environment() {
  Settings settings;
  const auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string gpu = get("TILEWRIGHT_GPU"); !gpu.empty()) settings.gpu = gpu;
  if (const std::string text = get("TILEWRIGHT_DEVICE_COUNT"); !text.empty()) {
    const Result<uint32_t> count = parse_count("TILEWRIGHT_DEVICE_COUNT", text, 1, 64);
    if (!count) return count.error();
    settings.devices = *count;
  }
  if (const std::string text = get("TILEWRIGHT_THREADS"); !text.empty()) {
    const Result<uint32_t> count = parse_count("TILEWRIGHT_THREADS", text, 0, 4096);
    if (!count) return count.error();
    settings.threads = *count;
  }
  if (const std::string text = get("TILEWRIGHT_DEVICE_MEMORY"); !text.empty()) {
    const Result<uint64_t> bytes = parse_bytes(text);
    if (!bytes) return Error{.message = "TILEWRIGHT_DEVICE_MEMORY: " + bytes.error().message};
    settings.device_memory = *bytes;
  }
  if (const std::string text = get("TILEWRIGHT_ORDER"); !text.empty()) {
    if (text != "any" && text != "fixed")
      return Error{.message =
                       fmt::format("TILEWRIGHT_ORDER='{}': 'fixed' or 'any' is expected", text)};
    settings.order_any = text == "any";
  }
  if (const std::string text = get("TILEWRIGHT_SCHEDULE"); !text.empty()) {
    const Result<uint32_t> schedule = parse_count("TILEWRIGHT_SCHEDULE", text, 0, UINT32_MAX);
    if (!schedule) return schedule.error();
    settings.schedule = *schedule;
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> Settings::to_environment() const {
  const Settings defaults;
  std::vector<std::pair<std::string, std::string>> variables;
  if (gpu != defaults.gpu) variables.emplace_back("TILEWRIGHT_GPU", gpu);
  if (devices != defaults.devices)
    variables.emplace_back("TILEWRIGHT_DEVICE_COUNT", std::to_string(devices));
  if (threads != defaults.threads)
    variables.emplace_back("TILEWRIGHT_THREADS", std::to_string(threads));
  if (device_memory != defaults.device_memory)
    variables.emplace_back("TILEWRIGHT_DEVICE_MEMORY", std::to_string(device_memory));
  if (order_any) variables.emplace_back("TILEWRIGHT_ORDER", "any");
  if (schedule != defaults.schedule)
    variables.emplace_back("TILEWRIGHT_SCHEDULE", std::to_string(schedule));
  return variables;
}

}  // namespace tw::cudart
