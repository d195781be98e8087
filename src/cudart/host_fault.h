// Host code that dereferences a device pointer. The engine keeps device addresses in a window that
// the host cannot touch, so the access raises SIGSEGV; the handler here recognises the address,
// names the allocation on stderr, and lets the process die of the signal as it would have without
// us. Under `tilewright check` the checkers make a finding of it instead.
//
// The handler is installed when the first device is created, and chained: an address outside the
// window goes to the handler that was there before. Under `tilewright check`, which lets accesses to
// protected managed memory go on (checkers/managed_memory.cpp), each launch puts it in front again
// of what the program has installed since. Not by standing in for sigaction(): our libraries export
// nothing but the CUDA API.
// Tested by tests/e2e (host_dereference.cu), tests/checkers (managed.cu, silent/managed_order.cu).
#pragma once

namespace tw::cudart {

void install_host_fault_handler();  // again and again, if need be

}  // namespace tw::cudart
