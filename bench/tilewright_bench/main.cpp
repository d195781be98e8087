// tilewright-bench transpose|gemm|gemm-steps|ceilings: measures this library on the GPU at hand.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "frame.h"

namespace {

constexpr char kUsage[] =
    "usage: tilewright-bench transpose|gemm|gemm-steps|ceilings [options]\n"
    "  --sizes 4096,8190x4097,...  shapes (N, MxN, or MxNxK); default: the suite's\n"
    "  --types f32,bf16,...        element types; default: the suite's\n"
    "  --suite NAME                a named list of cases of the sub-command\n"
    "  --only NAME,...             only candidates whose name contains one of these\n"
    "  --samples N                 samples per candidate (15)\n"
    "  --seconds S                 start no further case after S seconds\n"
    "  --verify                    check results, time nothing\n"
    "  --json FILE                 write the results\n"
    "  --plot FILE.svg             draw them\n"
    "exit status: 0, 1 when a result was wrong, 2 usage, 3 CUDA error\n";

std::vector<std::string> split(const char* text) {
  std::vector<std::string> out;
  std::string item;
  for (; *text; ++text) {
    if (*text == ',') {
      if (!item.empty()) out.push_back(item);
      item.clear();
    } else {
      item += *text;
    }
  }
  if (!item.empty()) out.push_back(item);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tilewright::bench;
  Options options;
  if (argc < 2 || !std::strcmp(argv[1], "--help")) {
    std::fputs(kUsage, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  options.command = argv[1];
  for (int i = 2; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--verify") {
      options.verify_only = true;
      continue;
    }
    if (i + 1 >= argc) {
      std::fprintf(stderr, "%s needs a value\n%s", flag.c_str(), kUsage);
      return 2;
    }
    const char* value = argv[++i];
    if (flag == "--sizes")
      options.sizes = split(value);
    else if (flag == "--types")
      options.types = split(value);
    else if (flag == "--only")
      options.only = split(value);
    else if (flag == "--suite")
      options.suite = value;
    else if (flag == "--json")
      options.json = value;
    else if (flag == "--plot")
      options.plot = value;
    else if (flag == "--samples")
      options.samples = std::max(1, std::atoi(value));
    else if (flag == "--seconds")
      options.max_seconds = std::atof(value);
    else {
      std::fprintf(stderr, "unknown option %s\n%s", flag.c_str(), kUsage);
      return 2;
    }
  }

  int (*command)(const Options&, std::vector<Case>&) = nullptr;
  if (options.command == "transpose") command = run_transpose;
  if (options.command == "gemm") command = run_gemm;
  if (options.command == "gemm-steps") command = run_gemm_steps;
  if (options.command == "ceilings") command = run_ceilings;
  if (!command) {
    std::fprintf(stderr, "unknown sub-command %s\n%s", options.command.c_str(), kUsage);
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "tilewright-bench: no CUDA device\n");
    return 3;
  }
  const Card before = read_card();
  std::printf("%s, driver %s, %d SMs, L2 %d MB, SM clock %d (max %d) MHz\n", before.name.c_str(),
              before.driver.c_str(), before.sm_count, before.l2_bytes >> 20, before.sm_clock_mhz,
              before.sm_clock_max_mhz);
  std::vector<Case> cases;
  int status = command(options, cases);
  const Card after = read_card();
  for (const Case& c : cases)
    for (const Outcome& o : c.outcomes)
      if (!o.error.empty()) status = 1;
  if (!options.json.empty() && !write_json(options.json, options, before, after, cases)) {
    std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
    return 2;
  }
  print_bars(cases);
  if (!options.plot.empty() && !write_plot(options.plot, before, cases)) {
    std::fprintf(stderr, "cannot write %s\n", options.plot.c_str());
    return 2;
  }
  return status;
}
