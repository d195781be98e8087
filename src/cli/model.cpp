// Options of `tilewright model`. The sums are in src/model, the screens in model_*.cpp beside this.
#include "cli/model.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/model_views.h"
#include "cli/number_range.h"

namespace tw::cli {
namespace {

// Runs a view when its sub-command was named. The query lives as long as the callbacks do.
template <class Query>
void finish(CLI::App* command, std::shared_ptr<Query> query, Result<View> (*view)(const Query&)) {
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON instead of the screen");
  command->callback([query, view, json] {
    Result<View> result = view(*query);
    if (!result.ok()) {
      std::fprintf(stderr, "tilewright model: %s\n", result.error().to_string().c_str());
      throw CLI::RuntimeError(2);
    }
    const std::string& text = *json ? result->json : result->text;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
}

void add_gpu(CLI::App* command, std::string& gpu) {
  command->add_option("--gpu", gpu, "GPU id (see `model devices`) or the path of a device file")
      ->capture_default_str();
}

void add_occupancy(CLI::App& model) {
  auto q = std::make_shared<OccupancyQuery>();
  CLI::App* c = model.add_subcommand(
      "occupancy", "Blocks and warps per SM, what limits them, what would change it");
  c->add_option("--threads", q->threads, "Threads per block")->required();
  c->add_option("--registers", q->registers,
                "Registers per thread, as ptxas reports them; 0: no limit")
      ->capture_default_str();
  c->add_option("--shared", q->shared, "Shared memory per block, static and dynamic: 38KB, 3072")
      ->capture_default_str();
  c->add_option("--barriers", q->barriers, "Named barriers per block")->capture_default_str();
  c->add_option("--blocks", q->blocks, "Blocks of the grid: adds waves and tail");
  add_gpu(c, q->gpu);
  finish(c, q, view_occupancy);
}

void add_roofline(CLI::App& model) {
  auto q = std::make_shared<RooflineQuery>();
  CLI::App* c = model.add_subcommand("roofline",
                                     "Roofs and ridge points of a GPU; the bound at an intensity");
  add_gpu(c, q->gpu);
  c->add_option("--pipe", q->pipe, "The pipe: fp32, fp64, fp16, tf32, fp16-tensor, bf16 or fp8")
      ->capture_default_str();
  c->add_flag("--measured", q->measured, "Measured ceilings where there are any");
  c->add_option("--intensity", q->intensity, "FLOP per byte of DRAM traffic")
      ->check(positive_number());
  c->add_option("--l2-intensity", q->l2_intensity, "FLOP per byte of L2 traffic")
      ->check(positive_number());
  c->add_option("--l1-intensity", q->l1_intensity, "FLOP per byte of L1 traffic")
      ->check(positive_number());
  c->add_option("--shared-intensity", q->shared_intensity, "FLOP per byte of shared-memory traffic")
      ->check(positive_number());
  c->add_option("--flops", q->flops, "FLOP of the kernel, with --time: how far from the roof")
      ->check(positive_number());
  c->add_option("--time", q->time, "Its time: 4ms, 350us");
  finish(c, q, view_roofline);
}

void add_banks(CLI::App& model) {
  auto q = std::make_shared<BanksQuery>();
  CLI::App* c =
      model.add_subcommand("banks", "Shared-memory bank conflicts of a row or column access");
  c->add_option("--array", q->array, "Rows x columns of the tile")->capture_default_str();
  c->add_option("--element", q->element, "Bytes per element")->capture_default_str();
  c->add_option("--access", q->access, "The direction: row or column")->capture_default_str();
  c->add_option("--vector", q->vector, "Elements per lane in one access (float4: 4)")
      ->capture_default_str();
  c->add_option("--pad", q->pad, "Unused elements after each row")->capture_default_str();
  c->add_option("--swizzle", q->swizzle, "The swizzle: none or xor")->capture_default_str();
  c->add_flag("--store", q->store, "A store instead of a load");
  c->add_option("--position", q->position, "The column (row) to show; without it the worst one")
      ->check(number_from(0));
  finish(c, q, view_banks);
}

void add_traffic(CLI::App& model) {
  CLI::App* traffic = model.add_subcommand("traffic", "Bytes that textbook kernels move");
  traffic->require_subcommand(1);
  {
    auto q = std::make_shared<GemmQuery>();
    CLI::App* c = traffic->add_subcommand("gemm", "Naive and tiled matrix product");
    c->add_option("--m", q->m, "Rows of A and C")->required();
    c->add_option("--n", q->n, "Columns of B and C")->required();
    c->add_option("--k", q->k, "Columns of A, rows of B")->required();
    c->add_option("--tile", q->tile, "16, 128x64 or 128x64x32 (m x n x k)");
    c->add_option("--element", q->element, "Bytes per element")->capture_default_str();
    add_gpu(c, q->gpu);
    finish(c, q, view_gemm_traffic);
  }
  {
    auto q = std::make_shared<TransposeQuery>();
    CLI::App* c = traffic->add_subcommand("transpose", "Naive, tiled and padded transpose");
    c->add_option("--m", q->m, "Rows of the input")->required();
    c->add_option("--n", q->n, "Columns of the input")->required();
    c->add_option("--element", q->element, "Bytes per element")->capture_default_str();
    c->add_option("--pad", q->pad, "Unused elements after each row of the padded tile")
        ->capture_default_str();
    add_gpu(c, q->gpu);
    finish(c, q, view_transpose_traffic);
  }
  {
    auto q = std::make_shared<VectorAddQuery>();
    CLI::App* c = traffic->add_subcommand("vector-add", "The sum of two vectors: c = a + b");
    c->add_option("--n", q->n, "Elements: 1e9")->required();
    c->add_option("--element", q->element, "Bytes per element")->capture_default_str();
    c->add_option("--time", q->time, "Measured time: 4ms");
    add_gpu(c, q->gpu);
    finish(c, q, view_vector_add_traffic);
  }
}

void add_devices(CLI::App& model) {
  auto id = std::make_shared<std::string>();
  CLI::App* c =
      model.add_subcommand("devices", "The GPUs known; with an id, every number and its source");
  c->add_option("id", *id, "GPU id or the path of a device file");
  finish(c, id, view_devices);
}

}  // namespace

void add_model_command(CLI::App& app) {
  CLI::App* model =
      app.add_subcommand("model", "Occupancy, roofline, bank and traffic calculators");
  model->footer(
      "Examples:\n"
      "  tilewright model occupancy --threads 256 --registers 64 --shared 38KB\n"
      "  tilewright model banks --array 32x32 --access column --swizzle xor\n"
      "  tilewright model traffic gemm --m 1024 --n 1024 --k 1024 --tile 16\n"
      "  tilewright model roofline --intensity 4 --gpu h100\n"
      "  tilewright model devices h200");
  model->require_subcommand(1);
  add_occupancy(*model);
  add_roofline(*model);
  add_banks(*model);
  add_traffic(*model);
  add_devices(*model);
}

}  // namespace tw::cli
