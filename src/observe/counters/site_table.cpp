#include "observe/counters/site_table.h"

#include <fmt/format.h>

#include "isa/matrix.h"
#include "isa/table.h"
#include "ptx/printer.h"

namespace tw::counters {
namespace {

using isa::Category;
using report::Traffic;

// The unit of the SM that carries the instruction out (compute capability 9.0; Nsight Compute's
// names).
const char* pipe_of(Category category, isa::Type type) {
  switch (category) {
    case Category::fp32: return type == isa::Type::f64 ? "fp64" : "fma";
    case Category::fp64: return "fp64";
    case Category::fp16:
    case Category::bf16: return "fp16";
    case Category::integer:
    case Category::logic:
    case Category::compare:
    case Category::select:
    case Category::move: return "alu";
    case Category::convert:
    case Category::special_function: return "xu";
    case Category::load:
    case Category::store:
    case Category::atomic: return "lsu";
    case Category::matrix: return "tensor";
    case Category::control: return "cbu";
    case Category::sync:
    case Category::warp:
    case Category::other: return "adu";
  }
  return "adu";
}

uint32_t results_a_lane(isa::Type type) {
  return type == isa::Type::f16x2 || type == isa::Type::bf16x2 ? 2 : 1;
}

// "ffma", "dadd", "hmul": the word in smsp__sass_thread_inst_executed_op_*_pred_on.
std::string op_of(std::string_view opcode, isa::Type type) {
  const char* letter = type == isa::Type::f32                               ? "f"
                       : type == isa::Type::f64                             ? "d"
                       : type == isa::Type::f16 || type == isa::Type::f16x2 ? "h"
                                                                            : nullptr;
  if (letter == nullptr) return {};
  if (opcode == "fma" || opcode == "mad") return std::string(letter) + "fma";
  if (opcode == "add" || opcode == "sub") return std::string(letter) + "add";
  if (opcode == "mul") return std::string(letter) + "mul";
  return {};
}

// Products of matrices: the tensor cores' path by the type of the factors, FLOP a lane, and the words
// in sm__ops_path_tensor_*. Integer products are no FLOP.
void describe_product(const isa::Match& match, report::SiteInfo& s) {
  const uint8_t geometry = match.mods[isa::Field::geometry];
  const auto sized = [&](const char* type, isa::GeometrySize size, uint32_t lanes) {
    s.pipe = std::string("tensor_") + type;
    s.flops = uint32_t(size.m) * size.n * size.k * 2 / lanes;
    s.op = fmt::format("src_{}_dst_{}", type, match.type == isa::Type::f16 ? "fp16" : "fp32");
  };
  const auto product = [&](const char* type) { sized(type, isa::kGeometrySizes[geometry], 32); };
  const auto warpgroup = [&](const char* type, isa::MatrixElement element) {
    sized(type, isa::warpgroup_size(geometry, element), 128);
  };
  switch (*isa::machine_row(match.row)) {
    case isa::Machine::mma_half:
    case isa::Machine::wmma_half: return product("fp16");
    case isa::Machine::mma_bfloat:
    case isa::Machine::wmma_bfloat: return product("bf16");
    case isa::Machine::mma_tf32:
    case isa::Machine::wmma_tf32: return product("tf32");
    case isa::Machine::mma_float8: return product("fp8");
    case isa::Machine::mma_double:
    case isa::Machine::wmma_double:
      product("fp64");
      s.op = "src_fp64";
      return;
    case isa::Machine::wgmma_half: return warpgroup("fp16", isa::kElementF16);
    case isa::Machine::wgmma_bfloat: return warpgroup("bf16", isa::kElementBf16);
    case isa::Machine::wgmma_tf32: return warpgroup("tf32", isa::kElementTf32);
    case isa::Machine::wgmma_float8: return warpgroup("fp8", isa::kElementFloat8);
    default: return;
  }
}

bool has(const ptx::Instruction& in, std::string_view word) {
  for (const std::string& m : in.modifiers)
    if (m == word) return true;
  return false;
}

// Hardware counts the global side of cp.async as a load; of its shared side there is no counter
// here.
bool is_async_copy(const ptx::Instruction& in) {
  return in.opcode == "cp" && has(in, "global") && !has(in, "bulk");
}

Traffic traffic_of(const ptx::Instruction& in, Category category) {
  if (is_async_copy(in)) return Traffic::global_load;
  const bool shared = has(in, "shared") || has(in, "shared::cta") || has(in, "shared::cluster");
  if (category == Category::atomic) return shared ? Traffic::shared_atomic : Traffic::atomic;
  if (category != Category::load && category != Category::store) return Traffic::none;
  const bool store = category == Category::store;
  if (shared) return store ? Traffic::shared_store : Traffic::shared_load;
  if (has(in, "local")) return store ? Traffic::local_store : Traffic::local_load;
  if (has(in, "param") || has(in, "const") || has(in, "param::entry") || has(in, "param::func"))
    return Traffic::none;
  return store ? Traffic::global_store : Traffic::global_load;
}

}  // namespace

SiteTable describe_sites(const emu::Program& program) {
  SiteTable table;
  const size_t count = program.sites.size();
  table.generic_shared.assign(count, 0);
  table.generic_local.assign(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    report::SiteInfo s;
    const emu::Site& site = program.sites[i];
    if (site.function == nullptr || site.instruction >= site.function->instructions.size()) {
      table.sites.push_back(std::move(s));
      continue;
    }
    const ptx::Instruction& in = site.function->instructions[site.instruction];
    const emu::SitePlace place = emu::place_of(program, i);
    s.function = site.function->name;
    s.instruction = site.instruction;
    s.text = place.text;
    if (place.source) s.file = place.file, s.line = place.line;
    if (const Result<isa::Match> match = isa::match(in, program.module->name)) {
      const isa::RowInfo& row = isa::row_info(match->row);
      s.category = isa::category_name(row.category);
      s.pipe = pipe_of(row.category, match->type);
      s.op = row.category == Category::fp32 || row.category == Category::fp64 ||
                     row.category == Category::fp16
                 ? op_of(row.opcode(), match->type)
                 : std::string();
      s.flops = row.flops * results_a_lane(match->type);
      s.traffic = traffic_of(in, row.category);
      if (row.category == Category::matrix) describe_product(*match, s);
      const uint32_t vector = match->mods[isa::Field::vec] ? match->mods[isa::Field::vec] : 1;
      if (is_async_copy(in))
        s.width = in.operands.size() > 2 ? uint32_t(in.operands[2].bits) : 0;
      else if (in.opcode == "ldmatrix" || in.opcode == "stmatrix")
        s.width = 16;  // a row
      else if (in.opcode == "wmma")
        s.width = match->type == isa::Type::f64 ? 8 : 4;  // a register, its elements together
      else if (s.traffic != Traffic::none)
        s.width = ptx::type_bytes(match->type) * vector;
      s.barrier = row.category == Category::sync &&
                  (row.opcode() == "bar" || row.opcode() == "barrier") && !has(in, "warp");
    } else {
      s.category = "other";
      s.pipe = "adu";
    }
    table.sites.push_back(std::move(s));
  }
  // A generic access can fall into any space: its shared and local parts are entries of their own.
  for (uint32_t i = 0; i < count; ++i) {
    const report::SiteInfo s = table.sites[i];
    if (s.traffic != Traffic::global_load && s.traffic != Traffic::global_store &&
        s.traffic != Traffic::atomic)
      continue;
    const emu::Site& site = program.sites[i];
    if (has(site.function->instructions[site.instruction], "global")) continue;
    report::SiteInfo part = s;
    part.category = {}, part.pipe = {}, part.flops = 0, part.op = {};
    const bool store = s.traffic == Traffic::global_store;
    const bool atomic = s.traffic == Traffic::atomic;
    part.traffic = atomic  ? Traffic::shared_atomic
                   : store ? Traffic::shared_store
                           : Traffic::shared_load;
    table.generic_shared[i] = uint32_t(table.sites.size());
    table.sites.push_back(part);
    if (atomic) continue;  // none on local memory
    part.traffic = store ? Traffic::local_store : Traffic::local_load;
    table.generic_local[i] = uint32_t(table.sites.size());
    table.sites.push_back(part);
  }
  return table;
}

}  // namespace tw::counters
