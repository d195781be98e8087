// The report of a profile as one self-contained HTML file: opens offline, prints, follows the
// reader's light or dark setting. Plain structs in, text out; nothing here knows the engine.
//
// What it shows for all kernels: a summary table and the roofline (log-log; one roof per memory
// level, one flat roof per pipe used, each kernel a point at each of its levels). For each kernel:
// the bounds with their speed of light, occupancy and its curves, counters with their Nsight
// Compute names, the source with heat per line, the bank map of its worst shared-memory access, and
// findings.
//
// Choice: Chart.js, since one 200 KB file is the whole library, log axes and scatter plots are
// built in, and Debian packages it. Vega draws SVG, but comes as some thirty modules; D3 is no
// plotting library. Limits: canvases print as bitmaps (at twice the screen's resolution).
//
// The page counts its plotted points and script errors in attributes of <body> (data-points,
// data-errors), which the headless browser test reads.
//
// Tested by tests/unit/report/html_report_test.cpp and tests/report/html_in_browser.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/occupancy.h"
#include "model/roofline.h"

namespace tw::report {

struct Metric {
  std::string name;   // Nsight Compute's, or ours where there is none
  std::string label;  // in words
  double value = 0;
  std::string unit;
  bool estimated = false;
};

struct SourceLine {
  uint32_t number = 0;
  std::string text;
  double instructions = 0;  // thread instructions: the heat
  double sectors = 0, ideal_sectors = 0;
  double wavefronts = 0, ideal_wavefronts = 0;
  double active_lanes = 0;  // mean per warp instruction; 0: no instruction
};

struct SourceFile {
  std::string path;
  std::vector<SourceLine> lines;
};

// One request: what each lane wants. Word = byte address / 4.
struct BankAccess {
  std::string title;  // "tiled.cu:31, load of 4 bytes"
  struct Lane {
    uint32_t lane = 0, word = 0;
  };
  std::vector<Lane> lanes;  // one entry per lane and word
  uint32_t wavefronts = 0, ideal_wavefronts = 0;
  bool each_lane = false;  // an atomic: lanes with one word do not share it
};

struct FindingSummary {
  std::string severity, kind, place, text, advice;
};

struct KernelReport {
  std::string name, grid, block;
  std::string verdict;        // one sentence
  std::string pipe = "FP32";  // a PipeRoof of the report: the flat roof it is held against
  uint64_t launches = 0;
  double sectors = 0, ideal_sectors = 0;        // of global memory
  double wavefronts = 0, ideal_wavefronts = 0;  // of shared memory
  double tflops = 0;                            // at `seconds`
  double seconds = 0;                           // measured, or predicted: what tflops refers to
  double predicted_seconds = 0, measured_seconds = 0;  // 0: not known
  struct Intensity {
    std::string level;  // a MemoryRoof of the report
    double flop_per_byte = 0;
  };
  std::vector<Intensity> intensities;
  model::Prediction prediction;
  model::BlockResources resources;
  model::Occupancy occupancy;
  std::vector<model::WhatIf> by_threads, by_registers, by_shared;
  std::vector<Metric> metrics;
  std::vector<SourceFile> sources;
  std::vector<BankAccess> bank_accesses;
  std::vector<FindingSummary> findings;
};

struct ProfileReport {
  std::string title;  // the program
  std::string device, command_line, version;
  std::string measured_on;  // the GPU of the measured times; empty: none
  std::string verdict;      // one sentence on the kernel that takes longest; empty: none has run
  std::string checked;      // what the checkers ran on, in a line; empty: they did not run
  std::vector<FindingSummary> findings;  // of no kernel: the host program's
  std::vector<model::MemoryRoof> levels;
  std::vector<model::PipeRoof> pipes;
  std::vector<KernelReport> kernels;
};

// The whole file. Text from the program (names, source) is escaped; invalid UTF-8 is replaced.
std::string html_report(const ProfileReport& report);

}  // namespace tw::report
