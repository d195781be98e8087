// `tilewright explain transpose|permute|gemm`: which kernel the GPU library takes for a problem, and
// why.
#pragma once

namespace CLI {
class App;
}

namespace tw::cli {

// Prints to standard output; needs no GPU. A refusal goes to standard error and ends in
// CLI::RuntimeError with status 2.
void add_explain_command(CLI::App& app);

}  // namespace tw::cli
