// Host code that dereferences a device pointer. The engine keeps device addresses in a window that
// the host cannot touch, so the access raises SIGSEGV; the handler here recognises the address,
// names the allocation on stderr, and lets the process die of the signal as it would have without
// us. Under `tilewright check` the checkers make a finding of it instead.
//
// The handler is installed when the first device is created, and chained: an address outside the
// window goes to the handler that was there before.
// Tested by tests/e2e (host_dereference.cu).
#pragma once

namespace tw::cudart {

void install_host_fault_handler();

}  // namespace tw::cudart
