// Device memory that frees itself. An array of no elements owns no memory and its pointer is null.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_check.h"

namespace tw::ladder {

template <class T> class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    if (count_ != 0) check(cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    upload(values);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }

  // `values` has as many elements as the array.
  void upload(const std::vector<T>& values) {
    if (count_ == 0) return;
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  void fill_bytes(int byte) {
    if (count_ != 0) check(cudaMemset(data_, byte, count_ * sizeof(T)));
  }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    if (count_ != 0)
      check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace tw::ladder
