// The screen of `tilewright model roofline`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/model_views.h"
#include "cli/quantity.h"
#include "model/roofline.h"
#include "report/text_table.h"

namespace tw::cli {
namespace {

using nlohmann::ordered_json;
using report::percent;
using report::TextTable;
using report::three_digits;

// The word for --pipe: "FP16 tensor" -> "fp16-tensor"; the tensor pipes of other types drop the
// word.
std::string pipe_word(const std::string& pipe) {
  std::string word;
  for (char c : pipe)
    word += c == ' ' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (word != "fp16-tensor" && word.ends_with("-tensor"))
    word.resize(word.size() - std::string("-tensor").size());
  return word;
}

}  // namespace

Result<View> view_roofline(const RooflineQuery& query) {
  auto device = model::load_device_spec(query.gpu);
  if (!device.ok()) return std::move(device).error();
  const model::Basis basis = query.measured ? model::Basis::kMeasured : model::Basis::kDatasheet;
  const auto levels = memory_roofs(*device, basis);
  const auto pipes = pipe_roofs(*device, basis);
  const auto pipe = std::find_if(pipes.begin(), pipes.end(), [&](const model::PipeRoof& p) {
    return pipe_word(p.pipe) == query.pipe;
  });
  if (pipe == pipes.end()) {
    std::string known;
    for (const auto& p : pipes) known += (known.empty() ? "" : ", ") + pipe_word(p.pipe);
    return Error{"unknown pipe \"" + query.pipe + "\"; " + device->name + " has " + known, "", 0,
                 0};
  }
  double seconds = 0;
  if (!query.time.empty()) {
    auto time = parse_seconds(query.time);
    if (!time.ok()) return std::move(time).error();
    if (!(query.flops > 0))
      return Error{"--time needs --flops: without the work, a time says nothing", "", 0, 0};
    seconds = *time;
  }

  View view;
  ordered_json json{{"schema", 1},
                    {"command", "roofline"},
                    {"gpu", device->id},
                    {"basis", query.measured ? "measured" : "datasheet"},
                    {"pipe", pipe_word(pipe->pipe)}};

  // The lowest roof over the levels whose intensity is known.
  auto intensity_of = [&](const std::string& level) {
    return level == "DRAM" ? query.intensity
           : level == "L2" ? query.l2_intensity
           : level == "L1" ? query.l1_intensity
                           : query.shared_intensity;
  };
  double attainable = pipe->tflops;
  const model::MemoryRoof* bound = nullptr;
  bool any = false;
  for (const auto& level : levels) {
    const double intensity = intensity_of(level.level);
    if (!(intensity > 0)) continue;
    any = true;
    const double here = attainable_tflops(*pipe, level, intensity);
    if (here < attainable) {
      attainable = here;
      bound = &level;
    }
  }
  if (query.l2_intensity > 0 &&
      std::none_of(levels.begin(), levels.end(), [](const auto& l) { return l.level == "L2"; }))
    return Error{"the L2 bandwidth of " + device->name + " is not known: leave --l2-intensity out",
                 "", 0, 0};
  if (any && bound != nullptr) {
    view.text = fmt::format(
        "Memory-bound on {}: {} FLOP/B of {} traffic allows {} TFLOP/s, {} of the {} peak of {} "
        "(ridge point {} FLOP/B).\n",
        device->name, three_digits(intensity_of(bound->level)), bound->level,
        three_digits(attainable), percent(attainable / pipe->tflops), pipe->pipe,
        three_digits(pipe->tflops), three_digits(ridge(*pipe, *bound)));
  } else if (any) {
    view.text = fmt::format(
        "Compute-bound on {}: the {} pipe allows {} TFLOP/s, and every given level could feed "
        "more.\n",
        device->name, pipe->pipe, three_digits(attainable));
  } else {
    view.text = fmt::format(
        "{}: below {} FLOP/B of DRAM traffic a kernel on the {} pipe is memory-bound.\n",
        device->name, three_digits(ridge(*pipe, levels.front())), pipe->pipe);
  }
  if (any) {
    json["attainable_tflops"] = attainable;
    json["bound"] = bound == nullptr ? pipe->pipe : bound->level;
  }
  if (seconds > 0) {
    const double achieved = query.flops / seconds * 1e-12;
    view.text += fmt::format("Achieved: {} TFLOP/s in {}, {} of {}.\n", three_digits(achieved),
                             report::duration(seconds), percent(achieved / attainable),
                             any ? "what the roofs allow" : "the pipe's peak");
    json["achieved_tflops"] = achieved;
    json["speed_of_light"] = achieved / attainable;
  }

  TextTable roofs("lrlrr");
  roofs.add_row({"level", "GB/s", "basis", fmt::format("{} ridge, FLOP/B", pipe->pipe),
                 any ? "TFLOP/s at its intensity" : ""});
  json["levels"] = ordered_json::array();
  for (const auto& level : levels) {
    const double intensity = intensity_of(level.level);
    roofs.add_row({level.level, fmt::format("{:.0f}", level.gb_per_s), level.basis,
                   three_digits(ridge(*pipe, level)),
                   intensity > 0
                       ? fmt::format("{} (at {})", three_digits(intensity * level.gb_per_s * 1e-3),
                                     three_digits(intensity))
                       : ""});
    json["levels"].push_back({{"level", level.level},
                              {"gb_per_s", level.gb_per_s},
                              {"basis", level.basis},
                              {"ridge", ridge(*pipe, level)}});
  }
  view.text += '\n' + roofs.to_string();
  if (std::none_of(levels.begin(), levels.end(), [](const auto& l) { return l.level == "L2"; }))
    view.text += "  L2: no roof, as its bandwidth is neither stated by the vendor nor measured\n";

  TextTable peaks("lrlr");
  peaks.add_row({"pipe", "TFLOP/s", "basis", "DRAM ridge, FLOP/B"});
  json["pipes"] = ordered_json::array();
  for (const auto& p : pipes) {
    peaks.add_row(
        {p.pipe, three_digits(p.tflops), p.basis, three_digits(ridge(p, levels.front()))});
    json["pipes"].push_back({{"pipe", pipe_word(p.pipe)},
                             {"tflops", p.tflops},
                             {"basis", p.basis},
                             {"dram_ridge", ridge(p, levels.front())}});
  }
  view.text += '\n' + peaks.to_string();
  view.json = json.dump(2) + "\n";
  return view;
}

}  // namespace tw::cli
