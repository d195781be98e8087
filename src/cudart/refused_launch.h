// Kernels that cannot run here: an instruction that the engine lacks, a program without PTX that the
// device could run.
//
// As with any launch that fails, CUDA tells of it in the last error only; a later
// cudaDeviceSynchronize is fine. A program that does not ask would print results that no kernel
// computed and end with status 0. So its exit status becomes 2 unless it has asked
// (cudaGetLastError, cudaPeekAtLastError, or the text of the error), or has launched by a call that
// returns it: a program that knows may well have another kernel to fall back on. The checkers do not
// blame the program for such a launch; what is missing has been said.
//
// Tested by tests/e2e/refusals.sh.
#pragma once

namespace tw::cudart {

// This thread's next launch comes from <<<...>>>, whose code drops what the launch returns.
void launch_drops_its_error();
void launch_is_over();
void launch_was_refused();  // between the two; or elsewhere: the error is returned
void refusal_was_asked_for();

// Called when the library is loaded, before anything of the program's is: what runs at exit runs in
// the opposite order, and the status is changed when everything else has been done.
void watch_exit_status();

}  // namespace tw::cudart
