// tilewright-bench gemm: our GEMM against cuBLAS. The GEMM library fills this in; until it does,
// the sub-command refuses rather than print an empty table.
#include <cstdio>

#include "frame.h"

namespace tilewright::bench {

int run_gemm(const Options&, std::vector<Case>&) {
  std::fprintf(stderr, "tilewright-bench gemm: this build has no GEMM library\n");
  return 2;
}

}  // namespace tilewright::bench
