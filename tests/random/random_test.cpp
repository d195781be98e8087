// Random kernels on every configuration of the engine that must not change results: host threads,
// instruction sets, and every lane as a path of its own (a reference schedule without full-mask
// handlers, fused rows or divergence bookkeeping). Where a GPU's hashes are stored, they are
// compared too.
//
//   random_kernels --write FILE N     the first N programs, for tests/gpu/random_programs.cpp
//   random_kernels --check FROM TO    seeds FROM..TO-1 on all configurations
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "emu/device.h"
#include "emu/program.h"
#include "ptx/parser.h"
#include "random_kernel.h"

namespace {

using namespace tw;

struct Configuration {
  std::string name;
  emu::DeviceOptions options;
  std::unique_ptr<emu::Device> device;
};

std::vector<Configuration> configurations() {
  std::vector<Configuration> list;
  auto add = [&](std::string name, std::string target, uint32_t threads, bool apart) {
    Configuration c;
    c.name = std::move(name);
    c.options.target = std::move(target);
    c.options.threads = threads;
    c.options.lanes_apart = apart;
    c.options.memory_bytes = 64 << 20;
    auto device = emu::Device::create(*model::load_device_spec("h200"), c.options);
    if (!device.ok()) {
      fmt::print(stderr, "{}\n", device.error().to_string());
      std::exit(1);
    }
    c.device = std::move(*device);
    list.push_back(std::move(c));
  };
  for (const emu::Target* t : emu::supported_targets()) add(t->name, t->name, 1, false);
  add("two threads", "", 2, false);
  add("lanes apart", "", 1, true);
  return list;
}

// The output words, or an error text.
std::string run(emu::Device& device, const random::RandomKernel& k, std::vector<uint32_t>& words) {
  auto parsed = ptx::parse(k.ptx, "random.ptx");
  if (!parsed.ok()) return parsed.error().to_string();
  auto module = device.load(std::move(*parsed));
  if (!module.ok()) return module.error().to_string();
  uint64_t threads = uint64_t(k.blocks) * k.threads;
  uint64_t out = *device.allocate(threads * k.words * 4, emu::AllocationKind::device),
           in = *device.allocate(threads * random::kInputWords * 4, emu::AllocationKind::device);
  uint32_t* hin =
      reinterpret_cast<uint32_t*>(device.host_pointer(in, threads * random::kInputWords * 4));
  for (uint64_t i = 0; i < threads * random::kInputWords; ++i) hin[i] = random::input_word(i);
  std::memset(device.host_pointer(out, threads * k.words * 4), 0, threads * k.words * 4);
  emu::Launch launch;
  launch.kernel = device.find_kernel(**module, "k");
  launch.grid = {k.blocks, 1, 1};
  launch.block = {k.threads, 1, 1};
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &out, 8);
  std::memcpy(launch.parameters.data() + 8, &in, 8);
  std::string error;
  auto started = device.start(launch);
  if (!started.ok())
    error = started.error().to_string();
  else {
    emu::GridRun::State state;
    do state = (*started)->advance();
    while (state == emu::GridRun::State::yielded);
    if (state == emu::GridRun::State::faulted) error = (*started)->fault().message;
    words.resize(threads * k.words);
    std::memcpy(words.data(), device.host_pointer(out, threads * k.words * 4),
                threads * k.words * 4);
    started->reset();
  }
  (void)device.free(out);
  (void)device.free(in);
  device.unload(*module);
  return error;
}

std::map<uint64_t, uint64_t> stored_hashes() {
  std::map<uint64_t, uint64_t> hashes;
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/data/random-h200.tsv");
  std::string line;
  while (std::getline(file, line)) {
    unsigned long long seed, hash;
    if (line.empty() || line[0] == '#' ||
        std::sscanf(line.c_str(), "%llu\t%llx", &seed, &hash) != 2)
      continue;
    hashes[seed] = hash;
  }
  return hashes;
}

int check(uint64_t from, uint64_t to) {
  auto list = configurations();
  auto stored = stored_hashes();
  uint64_t against_gpu = 0, failures = 0;
  for (uint64_t seed = from; seed < to; ++seed) {
    random::RandomKernel k = random::make_kernel(seed);
    std::vector<uint32_t> first;
    for (size_t c = 0; c < list.size(); ++c) {
      std::vector<uint32_t> words;
      std::string error = run(*list[c].device, k, words);
      if (!error.empty()) {
        fmt::print("seed {} on '{}': {}\n", seed, list[c].name, error);
        ++failures;
        break;
      }
      if (c == 0) first = words;
      if (words != first) {
        size_t at = 0;
        while (words[at] == first[at]) ++at;
        fmt::print("seed {}: '{}' differs from '{}' at thread {} word {}: {:#x} against {:#x}\n",
                   seed, list[c].name, list[0].name, at / k.words, at % k.words, words[at],
                   first[at]);
        ++failures;
      }
    }
    if (auto it = stored.find(seed); it != stored.end()) {
      ++against_gpu;
      if (it->second != random::hash_words(first)) {
        fmt::print("seed {}: the H200 computes something else\n", seed);
        ++failures;
      }
    }
  }
  std::string names;
  for (const Configuration& c : list) names += (names.empty() ? "" : ", ") + c.name;
  fmt::print("{} programs on {} ({} compared with an H200): {} failures\n", to - from, names,
             against_gpu, failures);
  return failures == 0 ? 0 : 1;
}

int write(const char* path, uint64_t count) {
  std::ofstream file(path, std::ios::binary);
  for (uint64_t seed = 0; seed < count; ++seed) {
    random::RandomKernel k = random::make_kernel(seed);
    file << "#program " << seed << ' ' << k.blocks << ' ' << k.threads << ' ' << k.words << ' '
         << k.ptx.size() << '\n'
         << k.ptx;
  }
  return file ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--write") == 0)
    return write(argv[2], std::strtoull(argv[3], nullptr, 10));
  if (argc == 4 && std::strcmp(argv[1], "--check") == 0)
    return check(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  fmt::print(stderr, "usage: random_kernels --write FILE N | --check FROM TO\n");
  return 2;
}
