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
    "  --types f32,bf16,...        element types (transpose: b8 b16 b32 b64 b128); default: the "
    "suite's\n"
    "  --suite NAME                a named list of cases of the sub-command\n"
    "  --only NAME,...             only candidates whose name contains one of these\n"
    "  --samples N                 samples per candidate (15)\n"
    "  --seconds S                 start no further case after S seconds\n"
    "  --verify                    check results, time nothing\n"
    "  --json FILE                 write the results\n"
    "  --plot FILE.svg             draw them\n"
    "exit status: 0, 1 when a result was wrong, 2 usage or nothing of that name, 3 CUDA error\n";

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

// All of `text` as a number of at least `least`.
bool read_number(const char* text, double least, double& value) {
  char* end = nullptr;
  value = std::strtod(text, &end);
  return end != text && *end == '\0' && value >= least && value <= 1e9;
}

// Whether anything ran: a misspelt suite, type or candidate leaves nothing.
bool anything(const std::vector<tilewright::bench::Case>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const auto& c) { return !c.outcomes.empty(); });
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tilewright::bench;
  Options options;
  const bool help = std::any_of(argv + 1, argv + argc, [](const char* argument) {
    return !std::strcmp(argument, "--help") || !std::strcmp(argument, "-h");
  });
  if (argc < 2 || help) {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
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
    if (flag == "--sizes" || flag == "--types" || flag == "--only") {
      std::vector<std::string>& list = flag == "--sizes"   ? options.sizes
                                       : flag == "--types" ? options.types
                                                           : options.only;
      list = split(value);
      if (list.empty()) {
        std::fprintf(stderr, "%s names nothing\n%s", flag.c_str(), kUsage);
        return 2;
      }
    } else if (flag == "--suite")
      options.suite = value;
    else if (flag == "--json")
      options.json = value;
    else if (flag == "--plot")
      options.plot = value;
    else if (flag == "--samples" || flag == "--seconds") {
      double number = 0;
      if (!read_number(value, flag == "--samples" ? 1 : 0, number)) {
        std::fprintf(stderr, "%s: %s is no number of %s\n%s", flag.c_str(), value, flag.c_str() + 2,
                     kUsage);
        return 2;
      }
      if (flag == "--samples")
        options.samples = int(number);
      else
        options.max_seconds = number;
    } else {
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
  if (status == 0 && !anything(cases) && !out_of_time(options)) {
    std::fprintf(stderr, "nothing ran: no suite, type or candidate of that name\n");
    status = 2;
  }
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
