// What happens beside the program: a progress bar while a kernel runs longer than two seconds (only
// on a terminal), and the report of where every unfinished CTA stands when the user presses Ctrl-C
// or when `tilewright run --timeout` is over (the command sends kTimeoutSignal).
//
// Signals: the handlers only write a byte to a pipe; a thread does the rest. A program that has its
// own SIGINT handler keeps it. Exit status: 130 after Ctrl-C, 124 after a timeout.
// Tested by tests/e2e (timeout, interrupt).
#pragma once

#include <csignal>

namespace tw::cudart {

inline int timeout_signal() { return SIGRTMIN + 5; }
inline constexpr int kTimeoutStatus = 124;
inline constexpr int kInterruptStatus = 130;

// Process number of the command where it waits for the program.
inline constexpr const char* kParentVariable = "TILEWRIGHT_PARENT";
// The program is killed when that command has gone.
void end_with_parent();

void start_watch();
void stop_watch();

}  // namespace tw::cudart
