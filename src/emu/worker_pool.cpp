// The host threads behind DeviceImpl (device_impl.h): each waits for a launch and runs it.
#include "emu/device_impl.h"

namespace tw::emu {

WorkerPool::WorkerPool(uint32_t threads) {
  for (uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this, i] { loop(i); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void WorkerPool::loop(uint32_t index) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    if (index > wanted_) continue;
    const std::function<void(uint32_t)>* body = body_;
    lock.unlock();
    (*body)(index);
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

void WorkerPool::run(uint32_t extra, const std::function<void(uint32_t)>& body) {
  extra = std::min<uint32_t>(extra, uint32_t(threads_.size()));
  if (extra == 0) {
    body(0);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    wanted_ = extra;
    running_ = extra;
    ++generation_;
  }
  wake_.notify_all();
  body(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
}

}  // namespace tw::emu
