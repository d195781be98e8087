// Streams and events: what runs when. One device thread executes the queued work of all devices, so
// that the host goes on after a launch, and so that kernels that wait for one another (or for the
// host) are time-sliced: a GridRun that yields goes back to the round.
//
// Order: every operation gets a sequence number when it is queued. A stream executes its own in
// order. The legacy default stream and the blocking streams of a device wait for one another: the
// front of one runs only when nothing older is queued in the other. Non-blocking streams wait for
// nothing but events. A stream's priority decides only the order within a round: a high priority
// that starves the kernel it waits for would hang.
//
// Host functions run on a thread of their own (they may block), the device thread going on with
// other streams. After a kernel fault the device's remaining work is dropped, as on a GPU.
//
// Tested by tests/unit/cudart/api_test.cpp and tests/e2e/programs/streams.cu.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cudart/cuda_api.h"
#include "emu/device.h"

namespace tw::cudart {

class Context;
struct Capture;  // graph.h

// One execution of cudaEventRecord. `when` is valid once `done` is set.
struct Recording {
  std::atomic<bool> done{false};
  std::chrono::steady_clock::time_point when;
};

struct Event {
  unsigned flags = 0;
  std::shared_ptr<Recording> last;   // nullptr: never recorded. Guarded by the scheduler's mutex
  std::shared_ptr<Capture> capture;  // the capture in which it was recorded last
  std::vector<struct GraphNode*> nodes;  // and after which nodes
};

// What is put into a stream or a graph; can be executed many times.
struct Command {
  enum class Kind : uint8_t { work, kernel, host_function, record, wait };
  Kind kind = Kind::work;
  std::function<cudaError_t()> work{};  // work, host_function
  emu::Launch launch{};                 // kernel
  bool clustered = false;               // kernel: the program said how large clusters are
  const void* function = nullptr;       // kernel: what the program named
  std::shared_ptr<Event> event{};       // record, wait
};

// A command in a stream's queue.
struct Operation {
  Command::Kind kind = Command::Kind::work;
  uint64_t sequence = 0;
  std::function<cudaError_t()> work;
  std::unique_ptr<emu::GridRun> grid;
  std::string kernel_name;
  std::shared_ptr<Recording> recording;  // record: completed by it; wait: waited for
  bool started = false;
  std::chrono::steady_clock::time_point started_at;
};

struct Stream {
  Context* context = nullptr;
  uint64_t id = 0;
  unsigned flags = 0;  // cudaStreamNonBlocking
  int priority = 0;
  std::map<int, cudaLaunchAttributeValue> attributes;  // hints that the program set
  bool legacy = false;                                 // the legacy default stream of its device
  std::shared_ptr<Capture> capture;       // being captured: commands become nodes of a graph
  std::vector<struct GraphNode*> leaves;  // the nodes that the next one depends on

  bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }

 private:
  friend class Scheduler;
  std::deque<Operation> queue_;  // front: running or next
  bool busy_ = false;            // the front is with the host-function thread
  bool destroyed_ = false;       // forget it once its queue is empty
};

class Scheduler {
 public:
  Scheduler() = default;
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  std::shared_ptr<Stream> create_stream(Context& context, unsigned flags, int priority,
                                        bool legacy);
  void destroy_stream(const std::shared_ptr<Stream>& stream);

  // Queues a command. Waits while too many are queued. A kernel is checked and decoded here: an
  // unsupported instruction is an error of the launch.
  cudaError_t submit(Stream& stream, const Command& command);
  // Executes `work` in stream order and returns its result; in the calling thread if nothing is
  // queued.
  cudaError_t run(Stream& stream, const std::function<cudaError_t()>& work);

  void wait(Stream& stream);          // for everything queued so far
  void wait(const Context& context);  // in all streams of a device
  void wait(const Recording& recording);
  bool idle(Stream& stream);

  std::shared_ptr<Recording> last_recording(const Event& event);

  // Drops what is queued for the device, interrupting running kernels, and waits for that.
  void drop(const Context& context);
  // At exit: gives queued work `grace` to finish, then interrupts it and ends the threads.
  void shut_down(std::chrono::milliseconds grace);

  // Where all unfinished kernels stand; empty if none is running. Any thread.
  std::string describe_unfinished();
  struct Running {
    std::string kernel;
    uint64_t ctas_done = 0, ctas = 0;
    std::chrono::steady_clock::time_point started_at;
  };
  std::vector<Running> running();

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool ready(const Stream& stream) const;
  bool execute(Lock& lock, const std::shared_ptr<Stream>& stream);  // false: it yielded
  void finish_front(Lock& lock, Stream& stream);
  uint64_t enqueue(Lock& lock, Stream& stream, Operation operation);
  void device_loop();
  void host_function_loop();

  std::mutex mutex_;
  std::condition_variable work_;                  // something was queued or became ready
  std::condition_variable done_;                  // an operation finished
  std::condition_variable calls_;                 // a host function is to be called
  std::vector<std::shared_ptr<Stream>> streams_;  // by priority, then age
  std::deque<std::shared_ptr<Stream>> host_functions_;
  uint64_t next_sequence_ = 1, next_stream_ = 1, next_launch_ = 1;
  size_t queued_ = 0;   // operations in all queues
  size_t waiters_ = 0;  // threads in done_
  bool stopping_ = false;
  std::thread device_thread_, host_function_thread_;
};

}  // namespace tw::cudart
