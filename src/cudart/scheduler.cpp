#include "cudart/scheduler.h"

#include <algorithm>

#include "cudart/diagnose.h"
#include "cudart/errors.h"
#include "cudart/host_fault.h"
#include "cudart/host_observer.h"
#include "cudart/refused_launch.h"
#include "cudart/runtime.h"

namespace tw::cudart {
namespace {

constexpr size_t kMaxQueued =
    1024;  // operations a stream; as on a GPU the host waits when it is full

thread_local bool on_own_thread = false;

HostObserver::StreamKind kind_of(const Stream& stream) {
  return stream.legacy       ? HostObserver::StreamKind::legacy
         : stream.blocking() ? HostObserver::StreamKind::blocking
                             : HostObserver::StreamKind::other;
}

// The host has waited for a stream: once the body is through.
template <class Tell> struct AfterWaiting {
  Tell tell;
  ~AfterWaiting() {
    if (HostObserver* observer = host_observer(); observer != nullptr && !on_own_thread)
      tell(*observer);
  }
};
template <class Tell> AfterWaiting(Tell) -> AfterWaiting<Tell>;

// Work that tells when it is carried out.
std::function<cudaError_t()> told(HostObserver& observer, uint64_t operation, bool host_waits,
                                  std::function<cudaError_t()> work) {
  return [&observer, operation, host_waits, work = std::move(work)] {
    observer.work_begin(operation);
    const cudaError_t error = work();
    observer.work_end(operation, host_waits);
    return error;
  };
}

}  // namespace

Scheduler::~Scheduler() { shut_down(std::chrono::milliseconds(0)); }

std::shared_ptr<Stream> Scheduler::create_stream(Context& context, unsigned flags, int priority,
                                                 bool legacy) {
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->flags = flags;
  stream->priority = priority;
  stream->legacy = legacy;
  Lock lock(mutex_);
  stream->id = next_stream_++;
  const auto place =
      std::upper_bound(streams_.begin(), streams_.end(), priority,
                       [](int p, const std::shared_ptr<Stream>& s) { return p < s->priority; });
  streams_.insert(place, stream);
  return stream;
}

void Scheduler::destroy_stream(const std::shared_ptr<Stream>& stream) {
  Lock lock(mutex_);
  if (stream->queue_.empty())
    std::erase(streams_, stream);
  else
    stream->destroyed_ = true;
}

uint64_t Scheduler::enqueue(Lock& lock, Stream& stream, Operation operation) {
  if (!on_own_thread) {
    waiters_++;
    done_.wait(lock, [&] { return stream.queue_.size() < kMaxQueued || stopping_; });
    waiters_--;
  }
  const uint64_t sequence = operation.sequence = next_sequence_++;
  stream.queue_.push_back(std::move(operation));
  queued_++;
  if (!device_thread_.joinable() && !stopping_)
    device_thread_ = std::thread([this] { device_loop(); });
  work_.notify_one();
  return sequence;
}

cudaError_t Scheduler::submit(Stream& stream, const Command& command) {
  Operation operation;
  operation.kind = command.kind;
  operation.work = command.work;
  HostObserver* const observer = host_observer();
  if (observer != nullptr && command.work) {
    // What a host function does, the host may know of.
    operation.work = told(*observer, observer->submitted(stream.id, kind_of(stream)),
                          command.kind == Command::Kind::host_function, command.work);
    observer->submitted_end();
  }
  if (command.kind == Command::Kind::kernel) {
    emu::Launch launch = command.launch;
    launch.stream = stream.id;
    {
      Lock lock(mutex_);
      launch.id = next_launch_++;
    }
    if (observer != nullptr) {
      install_host_fault_handler();
      observer->submitted(stream.id, kind_of(stream));
    }
    Result<std::unique_ptr<emu::GridRun>> grid = stream.context->start(launch);
    if (observer != nullptr) observer->submitted_end();
    if (!grid) {
      complain(fmt_error("kernel cannot run", grid.error()));
      launch_was_refused();
      return cudaErrorNotSupported;
    }
    operation.grid = std::move(*grid);
    operation.kernel_name = stream.context->kernel_name(*launch.kernel);
  }
  Lock lock(mutex_);
  if (stopping_) return cudaErrorCudartUnloading;
  if (command.kind == Command::Kind::record) {
    command.event->last = operation.recording = std::make_shared<Recording>();
    if (observer != nullptr)
      observer->recorded(operation.recording.get(), stream.id, kind_of(stream));
  } else if (command.kind == Command::Kind::wait) {
    if (observer != nullptr && command.event->last)
      observer->stream_waits(stream.id, kind_of(stream), command.event->last.get());
    if (!command.event->last || command.event->last->done)
      return cudaSuccess;  // nothing to wait for
    operation.recording = command.event->last;
  }
  enqueue(lock, stream, std::move(operation));
  return cudaSuccess;
}

cudaError_t Scheduler::run(Stream& stream, const std::function<cudaError_t()>& given) {
  std::function<cudaError_t()> work = given;
  if (HostObserver* observer = host_observer()) {
    work = told(*observer, observer->submitted(stream.id, kind_of(stream)), true, given);
    observer->submitted_end();
  }
  Lock lock(mutex_);
  if (queued_ == 0) {
    lock.unlock();
    return work();
  }
  cudaError_t result = cudaSuccess;
  Operation operation;
  operation.work = [&] { return result = work(); };
  const uint64_t sequence = enqueue(lock, stream, std::move(operation));
  waiters_++;
  done_.wait(lock, [&] {
    return stream.queue_.empty() || stream.queue_.front().sequence > sequence || stopping_;
  });
  waiters_--;
  const cudaError_t sticky = stream.context->sticky();
  return sticky != cudaSuccess ? sticky : result;
}

void Scheduler::wait(Stream& stream) {
  const AfterWaiting after{
      [&](HostObserver& observer) { observer.host_waited(stream.id, kind_of(stream)); }};
  Lock lock(mutex_);
  if (stream.legacy) {  // also for what the default stream would wait for
    const Context* context = stream.context;
    const uint64_t last = next_sequence_;
    waiters_++;
    done_.wait(lock, [&] {
      return stopping_ || std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
               return s->context != context || (!s->legacy && !s->blocking()) ||
                      s->queue_.empty() || s->queue_.front().sequence >= last;
             });
    });
    waiters_--;
    return;
  }
  if (stream.queue_.empty()) return;
  const uint64_t last = stream.queue_.back().sequence;
  waiters_++;
  done_.wait(lock, [&] {
    return stopping_ || stream.queue_.empty() || stream.queue_.front().sequence > last;
  });
  waiters_--;
}

void Scheduler::wait(const Context& context) {
  const AfterWaiting after{[](HostObserver& observer) { observer.host_waited_for_all(); }};
  Lock lock(mutex_);
  const uint64_t last = next_sequence_;
  waiters_++;
  done_.wait(lock, [&] {
    return stopping_ || std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
             return s->context != &context || s->queue_.empty() ||
                    s->queue_.front().sequence >= last;
           });
  });
  waiters_--;
}

void Scheduler::wait(const Recording& recording) {
  const AfterWaiting after{[&](HostObserver& observer) { observer.host_waited_for(&recording); }};
  Lock lock(mutex_);
  waiters_++;
  done_.wait(lock, [&] { return recording.done || stopping_; });
  waiters_--;
}

bool Scheduler::idle(Stream& stream) {
  bool idle = true;
  {
    Lock lock(mutex_);
    idle = stream.legacy ? std::all_of(streams_.begin(), streams_.end(),
                                       [&](const auto& s) {
                                         return s->context != stream.context ||
                                                (!s->legacy && !s->blocking()) || s->queue_.empty();
                                       })
                         : stream.queue_.empty();
  }
  if (HostObserver* observer = host_observer(); observer != nullptr && idle)
    observer->host_waited(stream.id, kind_of(stream));
  return idle;
}

std::shared_ptr<Recording> Scheduler::last_recording(const Event& event) {
  Lock lock(mutex_);
  return event.last;
}

bool Scheduler::ready(const Stream& stream) const {
  if (stream.queue_.empty() || stream.busy_) return false;
  const Operation& front = stream.queue_.front();
  if (front.started) return true;
  if (stream.context->sticky() != cudaSuccess) return true;  // to be dropped
  if (front.kind == Command::Kind::wait && !front.recording->done) return false;
  if (!stream.legacy && !stream.blocking()) return true;
  for (const auto& other : streams_) {
    if (other.get() == &stream || other->context != stream.context || other->queue_.empty())
      continue;
    const bool related = stream.legacy ? other->blocking() : other->legacy;
    if (related && other->queue_.front().sequence < front.sequence) return false;
  }
  return true;
}

void Scheduler::finish_front(Lock& lock, Stream& stream) {
  Operation finished = std::move(stream.queue_.front());
  stream.queue_.pop_front();
  queued_--;
  if (finished.kind == Command::Kind::record) {
    finished.recording->when = std::chrono::steady_clock::now();
    finished.recording->done = true;
  }
  if (stream.queue_.empty() && stream.destroyed_)
    std::erase_if(streams_, [&](const auto& s) { return s.get() == &stream; });
  if (waiters_ > 0) done_.notify_all();
  lock.unlock();
  {
    const Operation destroyed = std::move(finished);
  }  // a grid's memory is given back without the lock
  lock.lock();
}

bool Scheduler::execute(Lock& lock, const std::shared_ptr<Stream>& stream) {
  Operation& front = stream->queue_.front();  // stays valid: only this thread takes from the front
  Context& context = *stream->context;
  if (context.sticky() != cudaSuccess) {
    finish_front(lock, *stream);
    return true;
  }
  switch (front.kind) {
    case Command::Kind::work: {
      front.started = true;
      lock.unlock();
      const cudaError_t error = front.work();
      if (error != cudaSuccess) context.fail(error);
      lock.lock();
      break;
    }
    case Command::Kind::kernel: {
      if (!front.started) {
        front.started = true;
        front.started_at = std::chrono::steady_clock::now();
      }
      lock.unlock();
      const emu::GridRun::State state = front.grid->advance();
      if (state == emu::GridRun::State::faulted) context.fail(front.grid->fault());
      lock.lock();
      if (state == emu::GridRun::State::yielded) return false;
      break;
    }
    case Command::Kind::host_function:
      front.started = true;
      stream->busy_ = true;
      host_functions_.push_back(stream);
      if (!host_function_thread_.joinable())
        host_function_thread_ = std::thread([this] { host_function_loop(); });
      calls_.notify_one();
      return true;
    case Command::Kind::record:
    case Command::Kind::wait: break;
  }
  finish_front(lock, *stream);
  return true;
}

void Scheduler::device_loop() {
  on_own_thread = true;
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Stream>> round;
  while (!stopping_) {
    bool progressed = false, yielded = false;
    round = streams_;
    for (const auto& stream : round) {
      if (stopping_) break;
      if (!ready(*stream)) continue;
      if (execute(lock, stream))
        progressed = true;
      else
        yielded = true;
    }
    round.clear();
    if (progressed || stopping_) continue;
    if (yielded) {  // only kernels that poll: let the host thread have the core
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } else {
      work_.wait(lock);
    }
  }
}

void Scheduler::host_function_loop() {
  on_own_thread = true;
  Lock lock(mutex_);
  while (true) {
    calls_.wait(lock, [&] { return !host_functions_.empty() || stopping_; });
    if (stopping_) return;
    const std::shared_ptr<Stream> stream = std::move(host_functions_.front());
    host_functions_.pop_front();
    const std::function<cudaError_t()>& function =
        stream->queue_.front().work;  // stays valid until finish_front
    lock.unlock();
    function();
    lock.lock();
    stream->busy_ = false;
    finish_front(lock, *stream);
    work_.notify_one();
  }
}

void Scheduler::drop(const Context& context) {
  {
    Lock lock(mutex_);
    for (const auto& stream : streams_)
      if (stream->context == &context)
        for (const Operation& operation : stream->queue_)
          if (operation.grid) operation.grid->interrupt();
  }
  wait(context);
}

void Scheduler::shut_down(std::chrono::milliseconds grace) {
  Lock lock(mutex_);
  if (stopping_) return;
  waiters_++;
  done_.wait_for(lock, grace, [&] { return queued_ == 0; });
  waiters_--;
  stopping_ = true;
  for (const auto& stream : streams_)
    if (!stream->queue_.empty() && stream->queue_.front().grid)
      stream->queue_.front().grid->interrupt();
  const bool in_host_function =
      std::any_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->busy_; });
  work_.notify_all();
  calls_.notify_all();
  done_.notify_all();
  lock.unlock();
  // exit() may have been called by one of our own threads (a host function).
  const auto end = [](std::thread& thread, bool may_block) {
    if (!thread.joinable()) return;
    if (may_block || thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  };
  end(device_thread_, false);
  end(host_function_thread_, in_host_function);
}

std::string Scheduler::describe_unfinished() {
  Lock lock(mutex_);
  std::string text;
  for (const auto& stream : streams_) {
    if (stream->queue_.empty()) continue;
    const Operation& front = stream->queue_.front();
    if (front.kind != Command::Kind::kernel) continue;
    text += "kernel '" + demangled(front.kernel_name) + "', ";
    text += front.started ? front.grid->describe_unfinished()
                          : std::to_string(front.grid->progress().ctas) + " blocks, not started";
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text;
}

std::vector<Scheduler::Running> Scheduler::running() {
  Lock lock(mutex_);
  std::vector<Running> result;
  for (const auto& stream : streams_) {
    if (stream->queue_.empty()) continue;
    const Operation& front = stream->queue_.front();
    if (front.kind != Command::Kind::kernel || !front.started) continue;
    result.push_back({front.kernel_name, front.grid->progress().ctas_done,
                      front.grid->progress().ctas, front.started_at});
  }
  return result;
}

}  // namespace tw::cudart
