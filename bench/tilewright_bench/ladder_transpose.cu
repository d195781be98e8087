// See ladder.h. Headers first: the steps include them again inside their namespaces, to no effect.
#include "common/transpose_program.h"
#include "ladder.h"
#include "transpose/lib/element_tile.cuh"
#include "transpose/lib/funnel_tile.cuh"
#include "transpose/lib/raw_tile.cuh"
#include "transpose/lib/strip_tile.cuh"
#include "transpose/lib/vector_tile.cuh"

#define main step_main
namespace transpose_step01 {
#include "transpose/01_copy.cu"
}
namespace transpose_step02 {
#include "transpose/02_naive.cu"
}
namespace transpose_step03 {
#include "transpose/03_tiled.cu"
}
namespace transpose_step04 {
#include "transpose/04_tiled_padded.cu"
}
namespace transpose_step05 {
#include "transpose/05_tiled_xor.cu"
}
namespace transpose_step06 {
#include "transpose/06_vectorised_bytes.cu"
}
namespace transpose_step07 {
#include "transpose/07_chosen_by_rule.cu"
}
#undef main

namespace tilewright::bench {
namespace {

template <class T, void (*kLaunch)(const T*, T*, tw::ladder::MatrixShape)>
void launch_step(const void* in, void* out, int rows, int cols, cudaStream_t stream) {
  const InStream in_stream(stream);
  kLaunch(static_cast<const T*>(in), static_cast<T*>(out), {rows, cols});
}

}  // namespace

const std::vector<TransposeLadderStep>& transpose_ladder() {
  static const std::vector<TransposeLadderStep> steps = {
      {"01_copy", 4, true, launch_step<float, transpose_step01::launch>},
      {"02_naive", 4, false, launch_step<float, transpose_step02::launch>},
      {"03_tiled", 4, false, launch_step<float, transpose_step03::launch>},
      {"04_tiled_padded", 4, false, launch_step<float, transpose_step04::launch>},
      {"05_tiled_xor", 4, false, launch_step<float, transpose_step05::launch>},
      {"06_vectorised_bytes", 1, false, launch_step<uint8_t, transpose_step06::launch>},
      {"07_chosen_by_rule", 4, false, launch_step<float, transpose_step07::launch>},
  };
  return steps;
}

}  // namespace tilewright::bench
