// The frame of tilewright-bench: options, rotating buffers, timing, results. A sub-command (one
// file each: transpose.cu, gemm.cu, ceilings.cu) describes its cases; the frame times and writes
// them.
//
// How a figure comes about:
//  - Cold caches: a case owns as many copies of its operands as it takes to exceed four times the
//    L2; launch i uses copy i mod n.
//  - One sample = a CUDA graph of `inner` launches between two events, divided by `inner`, long
//    enough (about 200 us) that the events' own resolution does not show.
//  - All candidates of a case are sampled in rounds, each round in another order, so that clock and
//    thermal drift hits them alike; the figure is the median, the spread is (p90 - p10) / median.
//  - A candidate is checked before it is timed; one that fails is reported, not timed.
//
// Only the toolkit is needed (cudart, cublas, cublasLt). Programs only: errors print and exit.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright::bench {

// Exits with a message when a CUDA call fails: in a benchmark there is nothing to go on with.
void check_cuda(cudaError_t error, const char* what, const char* file, int line);
#define TW_CUDA(call) ::tilewright::bench::check_cuda((call), #call, __FILE__, __LINE__)

struct Options {
  std::string command;             // transpose | gemm | gemm-steps | ceilings
  std::vector<std::string> sizes;  // --sizes 4096,8191,8190x4097
  std::vector<std::string> types;  // --types f32,bf16 (the sub-command says which it knows)
  std::vector<std::string> only;   // --only NAME,...: candidates whose name contains one of these
  std::string suite;               // --suite NAME: a named list of cases of the sub-command
  std::string json;                // --json FILE
  std::string plot;                // --plot FILE.svg
  int samples = 15;                // --samples N
  double max_seconds = 0;          // --seconds S: start no case after S seconds (0: no limit)
  bool verify_only = false;        // --verify: check every candidate, time nothing
};
// "4096x4095x64" as numbers from 1 to 2^30, their product up to 2^60; empty, and a message, where `text` is
// anything else or has more than `most` of them.
std::vector<int64_t> parse_size(const std::string& text, size_t most);

// True when `name` passes --only.
bool selected(const Options& options, const std::string& name);

// The card and the software as found; clocks are read again after the run.
struct Card {
  std::string name, driver;
  int runtime_version = 0, driver_version = 0;
  int sm_count = 0, l2_bytes = 0;
  size_t memory_bytes = 0;
  int sm_clock_mhz = 0, sm_clock_max_mhz = 0, memory_clock_mhz = 0;  // 0: not known (no NVML)
  double power_watts = 0;
  int temperature_c = 0;
};
Card read_card();

// `count` device buffers of the same size, more than four times the L2 together (at least 1, at
// most 256). Filled with random bytes by `randomise`.
class RotatingBuffers {
 public:
  // `bytes_per_launch`: what one launch touches in all its operands, this buffer included; it
  // decides the count.
  RotatingBuffers(size_t bytes, size_t bytes_per_launch);
  ~RotatingBuffers();
  RotatingBuffers(const RotatingBuffers&) = delete;
  RotatingBuffers& operator=(const RotatingBuffers&) = delete;
  void* operator[](int slot) const { return base_ + size_t(slot % count_) * pitch_; }
  int count() const { return count_; }
  size_t bytes() const { return bytes_; }
  void randomise(uint64_t seed);  // every byte of every copy
  void fill(int byte);            // poison

 private:
  char* base_ = nullptr;
  size_t bytes_ = 0, pitch_ = 0;
  int count_ = 1;
};

// Writes random bytes (a counter-based hash: reproducible, no state).
void randomise_device(void* data, size_t bytes, uint64_t seed, cudaStream_t stream);

struct Timing {
  double median_us = 0, p10_us = 0, p90_us = 0;
  int samples = 0, inner = 0;
  double spread() const { return median_us > 0 ? (p90_us - p10_us) / median_us : 0; }
};

struct Candidate {
  std::string name;
  // Enqueues one launch on `stream`, using copy `slot` of the operands. Must be capturable unless
  // `capture` is false.
  std::function<void(int slot, cudaStream_t stream)> launch;
  // Empty text: right. Else what is wrong. Runs once before timing; may be null (recorded as
  // unchecked).
  std::function<std::string()> check;
  bool capture = true;
};

struct Outcome {
  std::string name;
  std::string error;  // not empty: failed its check, not timed
  bool checked = false;
  Timing timing;
  double rate = 0;                     // in Case::unit
  std::string kernels;                 // names of what it queued, where they say something
  std::map<std::string, double> more;  // any further figures
};

struct Case {
  std::string name;                           // "f32 8192x8192"
  std::map<std::string, std::string> fields;  // type, rows, cols, ...
  std::string unit = "GB/s";                  // or "TFLOP/s"
  double work = 0;  // bytes or operations of one launch: rate = work / time
  std::vector<Outcome> outcomes;
};

// Checks and times `candidates`; appends to `out.outcomes` and fills rates.
void measure(Case& out, const std::vector<Candidate>& candidates, const Options& options);

// Prints one line per case as soon as it is measured.
void print_case(const Case& c);
// JSON: schema, command, date (UTC), card (before and after), method, cases. Returns false when it
// cannot be written.
bool write_json(const std::string& path, const Options& options, const Card& before,
                const Card& after, const std::vector<Case>& cases);

// A bar a candidate, as long as its share of the case's highest rate: on the terminal after a run
// (of at most kMostBars cases), and as SVG. False when the file cannot be written.
constexpr size_t kMostBars = 40;
void print_bars(const std::vector<Case>& cases);
bool write_plot(const std::string& path, const Card& card, const std::vector<Case>& cases);

// Seconds since the program started.
double elapsed_seconds();
// True when --seconds has run out.
bool out_of_time(const Options& options);

// Sub-commands. Return the exit status: 0, or 1 when a check failed.
int run_transpose(const Options& options, std::vector<Case>& cases);
int run_gemm(const Options& options, std::vector<Case>& cases);
int run_gemm_steps(const Options& options, std::vector<Case>& cases);
int run_ceilings(const Options& options, std::vector<Case>& cases);

}  // namespace tilewright::bench
