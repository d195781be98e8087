// Names of the instruction categories, for reports and docs.
#include "isa/row.h"

namespace tw::isa {

std::string_view category_name(Category category) {
  switch (category) {
    case Category::move: return "move";
    case Category::integer: return "integer";
    case Category::logic: return "logic";
    case Category::compare: return "compare";
    case Category::select: return "select";
    case Category::convert: return "convert";
    case Category::fp32: return "fp32";
    case Category::fp64: return "fp64";
    case Category::fp16: return "fp16";
    case Category::bf16: return "bf16";
    case Category::special_function: return "special function";
    case Category::load: return "load";
    case Category::store: return "store";
    case Category::atomic: return "atomic";
    case Category::control: return "control";
    case Category::sync: return "sync";
    case Category::warp: return "warp";
    case Category::matrix: return "matrix";
    case Category::other: return "other";
  }
  return "other";
}

}  // namespace tw::isa
