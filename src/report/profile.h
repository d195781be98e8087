// What `tilewright profile` reports: plain structs, filled by profile_build.cpp from the records of
// the program (record.h), the machine code that ptxas made (src/sass) and the model (src/model),
// and written by profile_text.cpp, profile_json.cpp and profile_html.cpp. docs/counters.md defines
// every counter.
//
// Tested by tests/unit/report/profile_build_test.cpp, tests/counters.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/device_spec.h"
#include "model/occupancy.h"
#include "model/roofline.h"
#include "report/finding.h"
#include "report/record.h"
#include "sass/cubin.h"
#include "sass/ptxas_report.h"
#include "util/result.h"

namespace tw::report {

// Doubles: exact below 2^53; a few are shares of one.
struct Counters {
  double warps = 0, lanes = 0;  // executed instructions, by warps and by their lanes
  double flops_fp32 = 0, flops_fp64 = 0, flops_fp16 = 0;
  // Of tensor cores, by the type of the factors.
  double tensor_tf32 = 0, tensor_fp16 = 0, tensor_bf16 = 0, tensor_fp8 = 0;
  double l1_wavefronts = 0;  // of global and local requests
  double st_lines = 0;       // lines that stores and atomics touch
  double ld_requests = 0, ld_sectors = 0, ld_ideal = 0, ld_bytes = 0, ld_l2_sectors = 0;  // global
  double st_requests = 0, st_sectors = 0, st_ideal = 0, st_bytes = 0;
  double shared_ld_requests = 0, shared_ld_wavefronts = 0, shared_ld_conflicts = 0;
  double ldmatrix_requests = 0, ldmatrix_wavefronts = 0;  // a part of shared_ld
  double shared_st_requests = 0, shared_st_wavefronts = 0, shared_st_conflicts = 0;
  double local_requests = 0, local_sectors = 0;
  double atomic_requests = 0, atomic_sectors = 0;
  double shared_atomic_requests = 0, shared_atomic_wavefronts = 0, shared_atomic_conflicts = 0;
  double barriers = 0;  // warps that reached one

  Counters& operator+=(const Counters& other);
  double flops_tensor() const { return tensor_tf32 + tensor_fp16 + tensor_bf16 + tensor_fp8; }
  double flops() const { return flops_fp32 + flops_fp64 + flops_fp16 + flops_tensor(); }
  double excess_sectors() const { return ld_sectors - ld_ideal + st_sectors - st_ideal; }
  double shared_wavefronts() const {
    return shared_ld_wavefronts + shared_st_wavefronts + shared_atomic_wavefronts;
  }
  double excess_wavefronts() const {
    return shared_ld_conflicts + shared_st_conflicts + shared_atomic_conflicts;
  }
};

struct InstructionProfile {
  std::string text;
  std::string file;
  uint32_t line = 0;
  uint32_t sass = 0;  // machine instructions made of it; 0 if not known, or joined to a neighbour
  bool estimated = false;  // its shared-memory counts
  Counters counters;
};

struct LineProfile {
  std::string file;
  uint32_t line = 0;
  std::string source;  // the text of the line, where the file could be read
  Counters counters;
};

struct BankMap {
  std::string file, text;
  uint32_t line = 0;
  uint32_t width = 0, wavefronts = 0, groups = 0, mask = 0;
  bool store = false, atomic = false;
  bool each_lane = false;  // of an atomic: lanes with one word take a wavefront each
  std::array<uint32_t, 32> address{};
};

using Metrics = std::map<std::string, double>;  // by Nsight Compute's name where one exists

struct LaunchProfile {
  uint64_t id = 0;
  size_t kernel = 0;  // index into Profile::kernels
  uint32_t device = 0;
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;
  bool faulted = false;
  Metrics metrics;
};

struct LevelTraffic {
  std::string level;  // "requested", "L1", "L2", "DRAM", "compulsory"
  double bytes = 0;
  double intensity = 0;  // FLOP per byte; 0: no FLOP
};

// A kernel at one block shape, summed over its launches.
struct KernelProfile {
  std::string name;  // readable
  std::string mangled;
  uint32_t device = 0;                      // the program's number of the GPU
  std::array<uint32_t, 3> block{}, grid{};  // the largest grid: its blocks, in number
  uint64_t grids = 0;                       // different ones
  uint64_t launches = 0, blocks = 0;
  uint64_t static_shared_bytes = 0;
  uint64_t dynamic_shared_bytes = 0;  // of the launch with that grid, as is `occupancy`
  uint32_t registers = 0;
  bool resources_estimated = true;  // no ptxas was there
  uint64_t spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0;
  bool shared_estimated = false;  // shared-memory counts rest on a model of ptxas
  Counters total;
  std::map<std::string, double> warps_by_pipe, lanes_by_pipe, warps_by_category;
  double sass_warps = 0;  // executed machine instructions, estimated; 0: not known
  std::vector<LevelTraffic> traffic;
  model::Occupancy occupancy;
  model::Prediction prediction;    // of all launches, one after the other
  double predicted_seconds = 0;    // of all launches, without launch_seconds
  double launch_seconds = 0;       // what the launches cost by themselves; 0: not measured
  double measured_seconds = 0;     // --measure: of as many launches; 0: not measured
  uint64_t measured_launches = 0;  // whose median it is
  std::vector<InstructionProfile> instructions;
  std::vector<LineProfile> lines;  // by file and line
  std::vector<BankMap> banks;      // worst first
  std::string verdict;             // one sentence
};

struct Profile {
  std::string program;                 // as on the command line
  std::vector<std::string> arguments;  // the program's
  model::DeviceSpec device;
  bool as_written = false;
  std::string ptxas_note;       // why ptxas was not asked; empty: it was
  std::string measured_device;  // the GPU that --measure ran on
  std::string measured_note;    // why --measure has no times; empty: it has, or was not asked for
  std::optional<CheckResult> check;  // --check
  std::vector<KernelProfile> kernels;
  bool devices = false;  // they ran on more than device 0
  std::vector<LaunchProfile> launches;
  std::set<std::string> estimated_metrics;
};

// What ptxas said of one module.
struct MachineCode {
  std::vector<sass::KernelCode> code;
  std::vector<sass::KernelResources> resources;
};

struct BuildOptions {
  std::string program;
  bool as_written = false;                  // shared accesses as PTX has them
  std::map<uint64_t, MachineCode> machine;  // by module id
  std::string ptxas_note;
};

Profile build_profile(const Records& records, const model::DeviceSpec& device,
                      const BuildOptions& options);

// One screen for the terminal: the verdict of the kernel that takes longest, then a table.
std::string profile_text(const Profile& profile);
// docs/counters.md documents it; kProfileSchema changes when a key changes its meaning or goes.
std::string profile_json(const Profile& profile);
std::string profile_html(const Profile& profile);  // html_report.h's page

inline constexpr int kProfileSchema = 2;

// "3 grids, largest 32 x 32 x 1"; "32 x 32 x 1" where all are the same.
std::string grid_text(const KernelProfile& kernel);
// The kernel, with its device where the program used several: "scale (device 1)".
std::string kernel_title(const Profile& profile, const KernelProfile& kernel);

// Mangled -> readable, without the parameters: "gemm_tiled<16>".
std::string readable_kernel(const std::string& mangled);

}  // namespace tw::report
