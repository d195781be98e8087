// What tilewright-bench knows about the card, and how it writes results (see frame.h).
// NVML is loaded at run time: it belongs to the driver, not to the toolkit.
#include <dlfcn.h>

#include <cstdio>
#include <ctime>

#include "frame.h"

namespace tilewright::bench {
namespace {

// The few NVML calls needed, by the signatures of nvml.h.
struct Nvml {
  int (*init)() = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;  // 1: SM, 2: memory
  int (*max_clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;  // milliwatts
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
};

template <class F> bool resolve(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

void read_nvml(Card& card, int device) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return;
  Nvml n;
  void* handle = nullptr;
  if (!resolve(library, "nvmlInit_v2", n.init) ||
      !resolve(library, "nvmlDeviceGetHandleByIndex_v2", n.handle) || n.init() != 0 ||
      n.handle(unsigned(device), &handle) != 0)
    return;
  unsigned value = 0;
  char text[96] = {};
  if (resolve(library, "nvmlDeviceGetClockInfo", n.clock)) {
    if (n.clock(handle, 1, &value) == 0) card.sm_clock_mhz = int(value);
    if (n.clock(handle, 2, &value) == 0) card.memory_clock_mhz = int(value);
  }
  if (resolve(library, "nvmlDeviceGetMaxClockInfo", n.max_clock) &&
      n.max_clock(handle, 1, &value) == 0)
    card.sm_clock_max_mhz = int(value);
  if (resolve(library, "nvmlDeviceGetPowerUsage", n.power) && n.power(handle, &value) == 0)
    card.power_watts = value * 1e-3;
  if (resolve(library, "nvmlDeviceGetTemperature", n.temperature) &&
      n.temperature(handle, 0, &value) == 0)
    card.temperature_c = int(value);
  if (resolve(library, "nvmlSystemGetDriverVersion", n.driver) && n.driver(text, sizeof text) == 0)
    card.driver = text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

void write_card(std::FILE* f, const char* key, const Card& c) {
  std::fprintf(
      f,
      " \"%s\": {\"name\": %s, \"driver\": %s, \"cuda_runtime\": %d, \"cuda_driver\": %d, "
      "\"sm_count\": %d, "
      "\"l2_bytes\": %d, \"memory_bytes\": %zu, \"sm_clock_mhz\": %d, \"sm_clock_max_mhz\": %d, "
      "\"memory_clock_mhz\": %d, \"power_watts\": %.0f, \"temperature_c\": %d},\n",
      key, quoted(c.name).c_str(), quoted(c.driver).c_str(), c.runtime_version, c.driver_version,
      c.sm_count, c.l2_bytes, c.memory_bytes, c.sm_clock_mhz, c.sm_clock_max_mhz,
      c.memory_clock_mhz, c.power_watts, c.temperature_c);
}

}  // namespace

Card read_card() {
  Card card;
  int device = 0;
  TW_CUDA(cudaGetDevice(&device));
  cudaDeviceProp prop;
  TW_CUDA(cudaGetDeviceProperties(&prop, device));
  card.name = prop.name;
  card.sm_count = prop.multiProcessorCount;
  card.l2_bytes = prop.l2CacheSize;
  card.memory_bytes = prop.totalGlobalMem;
  TW_CUDA(cudaRuntimeGetVersion(&card.runtime_version));
  TW_CUDA(cudaDriverGetVersion(&card.driver_version));
  read_nvml(card, device);
  return card;
}

void print_case(const Case& c) {
  std::printf("%-34s", c.name.c_str());
  for (const Outcome& o : c.outcomes) {
    if (!o.error.empty())
      std::printf("  %s: WRONG (%s)", o.name.c_str(), o.error.c_str());
    else if (o.timing.samples == 0)
      std::printf("  %s: ok", o.name.c_str());
    else
      std::printf("  %s %.*f%s", o.name.c_str(), o.rate < 100 ? 2 : 0, o.rate,
                  o.timing.spread() > 0.05 ? "~" : "");  // ~: spread above 5 %
  }
  std::printf("  [%s]\n", c.unit.c_str());
  std::fflush(stdout);
}

bool write_json(const std::string& path, const Options& options, const Card& before,
                const Card& after, const std::vector<Case>& cases) {
  std::FILE* f = std::fopen(path.c_str(), "w");
  if (!f) return false;
  char date[32];
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::fprintf(f, "{\"schema\": 1, \"command\": %s, \"suite\": %s, \"date\": \"%s\",\n",
               quoted(options.command).c_str(), quoted(options.suite).c_str(), date);
  write_card(f, "card", before);
  write_card(f, "card_after", after);
  std::fprintf(f,
               " \"method\": \"graph of inner launches between two events, operands rotated beyond "
               "4x L2, candidates "
               "interleaved in turning order, median of %d samples; random data; %s checked before "
               "timing\",\n \"cases\": [\n",
               options.samples,
               options.command == "gemm"         ? "sampled rows"
               : options.command == "gemm-steps" ? "sampled elements"
                                                 : "every element");
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    std::fprintf(f, "  {\"name\": %s, \"unit\": %s, \"work\": %.0f", quoted(c.name).c_str(),
                 quoted(c.unit).c_str(), c.work);
    for (const auto& [key, value] : c.fields)
      std::fprintf(f, ", %s: %s", quoted(key).c_str(), quoted(value).c_str());
    std::fprintf(f, ", \"results\": [");
    for (size_t k = 0; k < c.outcomes.size(); ++k) {
      const Outcome& o = c.outcomes[k];
      std::fprintf(f, "%s\n    {\"name\": %s, \"checked\": %s", k ? "," : "",
                   quoted(o.name).c_str(), o.checked ? "true" : "false");
      if (!o.error.empty()) std::fprintf(f, ", \"error\": %s", quoted(o.error).c_str());
      if (o.timing.samples)
        std::fprintf(f,
                     ", \"rate\": %.2f, \"median_us\": %.3f, \"p10_us\": %.3f, \"p90_us\": %.3f, "
                     "\"samples\": %d, \"inner\": %d",
                     o.rate, o.timing.median_us, o.timing.p10_us, o.timing.p90_us, o.timing.samples,
                     o.timing.inner);
      if (!o.kernels.empty()) std::fprintf(f, ", \"kernels\": %s", quoted(o.kernels).c_str());
      for (const auto& [key, value] : o.more)
        std::fprintf(f, ", %s: %.6g", quoted(key).c_str(), value);
      std::fprintf(f, "}");
    }
    std::fprintf(f, "]}%s\n", i + 1 < cases.size() ? "," : "");
  }
  std::fprintf(f, "]}\n");
  return std::fclose(f) == 0;
}

}  // namespace tilewright::bench
