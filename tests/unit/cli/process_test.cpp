// Programs started with a pipe to us: what they say, how they end, and those that close it early.
#include "cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudart/watch.h"

namespace tw::cli {
namespace {

struct Ran {
  int status = -1;
  std::string text;
};

// Runs a shell script that finds the pipe's number in $PIPE.
Ran run_script(const std::string& script, double seconds, bool inherit = true) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(fcntl(ends[1], F_SETFD, inherit ? 0 : FD_CLOEXEC), 0);
  Ran ran;
  const Result<int> status =
      run_reading({"/bin/sh", "-c", script}, {{"PIPE", std::to_string(ends[1])}}, seconds, ends[0],
                  ends[1], [&](std::string_view text) { ran.text += text; });
  close(ends[0]);
  EXPECT_TRUE(status.ok());
  if (status.ok())
    ran.status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  return ran;
}

TEST(RunReading, TextAndStatus) {
  const Ran ran = run_script("echo one >&$PIPE; echo two >&$PIPE; exit 3", 0);
  EXPECT_EQ(ran.text, "one\ntwo\n");
  EXPECT_EQ(ran.status, 3);
  EXPECT_EQ(run_script("kill -TERM $$", 0).status, 128 + 15);
}

TEST(RunReading, AChildThatLivesOnKeepsNobodyWaiting) {
  const Ran ran = run_script("sleep 20 & echo done >&$PIPE", 0);
  EXPECT_EQ(ran.text, "done\n");
  EXPECT_EQ(ran.status, 0);
}

TEST(RunReading, TimeIsOverWhetherThePipeIsOpenOrClosed) {
  for (const bool inherit : {true, false})
    EXPECT_EQ(run_script("exec sleep 20", 0.2, inherit).status, cudart::kTimeoutStatus) << inherit;
}

TEST(RunReading, AProgramThatClosesThePipeIsWaitedFor) {
  EXPECT_EQ(run_script("sleep 0.2; exit 5", 0, false).status, 5);
}

}  // namespace
}  // namespace tw::cli
