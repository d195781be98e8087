#include "report/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "report/text_table.h"

namespace tw::report {
namespace {

// Takes a number off the front; what separates it from the next is one character.
template <class T> bool take(std::string_view& text, T& value, char end) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(size_t(at - text.data()));
  if (text.empty()) return end == '\0';
  if (text.front() != end) return false;
  text.remove_prefix(1);
  return true;
}

bool take_shape(std::string_view& text, std::array<uint32_t, 3>& shape) {
  return take(text, shape[0], ' ') && take(text, shape[1], ' ') && take(text, shape[2], '\t');
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

Result<std::vector<MeasuredLaunch>> read_times(std::string_view text, const std::string& file) {
  std::vector<MeasuredLaunch> launches;
  for (uint32_t number = 1;; ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return launches;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    MeasuredLaunch launch;
    const size_t tab = line.find('\t');
    bool whole = tab != std::string_view::npos;
    if (whole) {
      launch.kernel = line.substr(0, tab);
      line.remove_prefix(tab + 1);
      whole = take_shape(line, launch.grid) && take_shape(line, launch.block) &&
              take(line, launch.seconds, '\0') && launch.seconds >= 0;
    }
    if (!whole)
      return Error{.message = "not a launch: kernel, grid, block, seconds between tabs",
                   .file = file,
                   .line = number};
    launches.push_back(std::move(launch));
  }
}

void add_measured(Profile& profile, const std::vector<MeasuredLaunch>& launches,
                  const std::string& device_name) {
  profile.measured_device = device_name;
  using Shape = std::tuple<std::string, std::array<uint32_t, 3>, std::array<uint32_t, 3>>;
  std::map<Shape, std::vector<double>> times;
  for (const MeasuredLaunch& l : launches) times[{l.kernel, l.grid, l.block}].push_back(l.seconds);
  std::vector<bool> complete(profile.kernels.size(), true);
  std::vector<std::map<std::array<uint32_t, 3>, bool>> counted(profile.kernels.size());
  for (KernelProfile& k : profile.kernels) k.measured_seconds = 0, k.measured_launches = 0;
  for (const LaunchProfile& l : profile.launches) {
    KernelProfile& k = profile.kernels[l.kernel];
    const auto found = times.find({k.mangled, l.grid, l.block});
    if (found == times.end()) {
      complete[l.kernel] = false;
      continue;
    }
    k.measured_seconds += median(found->second);
    if (!std::exchange(counted[l.kernel][l.grid], true))
      k.measured_launches += found->second.size();
  }
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    KernelProfile& k = profile.kernels[i];
    if (!complete[i] || !(k.measured_seconds > 0)) {
      k.measured_seconds = 0, k.measured_launches = 0;
      continue;
    }
    // The prediction's units are those of the longest launch; their shares are of all launches.
    // Events also see the launch itself.
    const double scale = k.prediction.seconds > 0 ? k.predicted_seconds / k.prediction.seconds : 1;
    for (model::Bound& b : k.prediction.bounds)
      b.speed_of_light = b.seconds * scale / k.measured_seconds;
    const double expected = k.predicted_seconds + k.launch_seconds;
    k.verdict += fmt::format(" Measured on {}: {}, {:.2f} times the prediction.", device_name,
                             duration(k.measured_seconds), k.measured_seconds / expected);
  }
}

}  // namespace tw::report
