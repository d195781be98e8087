// `tilewright bench`: measures the GPU library on the GPU at hand.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Becomes tilewright-bench, which is built by the `cuda` preset; where that has not been built,
// ends in CLI::RuntimeError with status 2 after saying how to.
void add_bench_command(CLI::App& app);

}  // namespace tw::cli
