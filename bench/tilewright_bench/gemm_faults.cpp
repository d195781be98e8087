// tilewright-bench gemm --suite faults: what callers get wrong, and what sizes get wrong.
#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "gemm_verify.h"

namespace tilewright::bench {
namespace {

std::vector<char> run_and_fetch(const GemmArguments& g, size_t d_bytes, std::string* problem,
                                cudaStream_t stream = nullptr) {
  GemmWorkspace need;
  if (!gemm_workspace(g, &need)) *problem = "workspace query failed";
  DeviceBytes workspace(need.recommended);
  const Status status = gemm(g, workspace.data(), need.recommended, stream);
  if (!status) *problem = std::string(status.argument) + ": " + status.message;
  TW_CUDA(cudaDeviceSynchronize());
  std::vector<char> out(d_bytes);
  TW_CUDA(cudaMemcpy(out.data(), g.d, d_bytes, cudaMemcpyDeviceToHost));
  return out;
}

// Row-major, packed.
GemmArguments packed(int64_t m, int64_t n, int64_t k, Type type, Type type_d) {
  GemmArguments g;
  g.m = m, g.n = n, g.k = k;
  g.type_a = g.type_b = type;
  g.type_d = type_d;
  g.ld_a = k, g.ld_b = n, g.ld_d = g.ld_c = n;
  return g;
}

// m * n beyond 2^31: a few rows against double, the last one included.
void verify_large(Log& log, int64_t m, int64_t n, int64_t k, Type type) {
  const TypeInfo& info = type_info(type);
  const Type type_d = type == Type::kF32 ? Type::kF32 : Type::kBf16;
  const int d_bytes = type_info(type_d).bytes;
  GemmArguments g = packed(m, n, k, type, type_d);
  DeviceBytes a(m * k * info.bytes), b(k * n * info.bytes), d(size_t(m) * n * d_bytes);
  fill_uniform(a.data(), m * k, type, 1);
  fill_uniform(b.data(), k * n, type, 2);
  TW_CUDA(cudaMemset(d.data(), 0xff, d.size()));
  g.a = a.data(), g.b = b.data(), g.d = d.data();
  std::string problem;
  GemmWorkspace need;
  if (!gemm_workspace(g, &need)) problem = "workspace query failed";
  DeviceBytes workspace(need.recommended);
  const Status status = gemm(g, workspace.data(), need.recommended, nullptr);
  if (!status) problem = std::string(status.argument) + ": " + status.message;
  TW_CUDA(cudaDeviceSynchronize());
  const std::vector<int64_t> rows = {0, m / 2, m - 129, m - 1};
  DeviceBytes reference(rows.size() * n * sizeof(double));
  reference_rows(g, rows, reinterpret_cast<double*>(reference.data()));
  std::vector<double> want(rows.size() * n);
  TW_CUDA(cudaMemcpy(want.data(), reference.data(), want.size() * sizeof(double),
                     cudaMemcpyDeviceToHost));
  std::vector<char> got(n * d_bytes);
  for (size_t i = 0; i < rows.size() && problem.empty(); ++i) {
    TW_CUDA(cudaMemcpy(got.data(), d.data() + rows[i] * n * d_bytes, got.size(),
                       cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < n && problem.empty(); ++j) {
      const double w = want[i * n + j], v = host_value(got.data(), j, type_d);
      const double sums = info.bytes == 1 ? 3e-4 * std::sqrt(double(k)) : 1e-4;  // fp8: 14 bits
      if (!(std::fabs(v - w) <= std::fabs(w) / 128 + sums))
        problem = "row " + std::to_string(rows[i]) + ", column " + std::to_string(j) + ": " +
                  std::to_string(v) + ", not " + std::to_string(w);
    }
  }
  char name[120];
  std::snprintf(name, sizeof name, "%s %lldx%lldx%lld", info.name, static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k));
  log.add("faults: m * n beyond 2^31", name, problem);
}

// NaN and infinity in one element of A reach their row of D, and no other.
void verify_special_values(Log& log, Type type, float value, const char* what) {
  const int64_t m = 131, n = 77, k = 203;
  GemmArguments g = packed(m, n, k, type, Type::kF32);
  const int bytes = type_info(type).bytes;
  DeviceBytes a(m * k * bytes), b(k * n * bytes), d(m * n * 4);
  fill_uniform(a.data(), m * k, type, 1);
  fill_uniform(b.data(), k * n, type, 2);
  const int64_t row = 70, column = 201;
  const __nv_bfloat16 half = __float2bfloat16(value);
  const void* bits = bytes == 4 ? static_cast<const void*>(&value) : &half;
  TW_CUDA(cudaMemcpy(a.data() + (row * k + column) * bytes, bits, bytes, cudaMemcpyHostToDevice));
  g.a = a.data(), g.b = b.data(), g.d = d.data();
  std::string problem;
  const std::vector<char> got = run_and_fetch(g, d.size(), &problem);
  for (int64_t i = 0; i < m && problem.empty(); ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const bool finite = std::isfinite(host_value(got.data(), i * n + j, Type::kF32));
      if (finite == (i == row))
        problem = "element " + std::to_string(i) + ", " + std::to_string(j) + " is " +
                  (finite ? "finite" : "not finite");
    }
  }
  log.add("faults: values", std::string(type_info(type).name) + " " + what, problem);
}

// A and D (fp32) of every batch as windows of columns of one buffer's rows, where nothing else may
// change; `one_a`: one A for the whole batch.
void verify_windows(Log& log, Type type, int64_t batches, bool one_a) {
  const int64_t m = 131, n = 77, k = 203, pitch = 4096;
  const int bytes = type_info(type).bytes;
  const int64_t d_at = (one_a ? 1 : batches) * k * bytes + (bytes < 4 ? 2 : 0);  // where D begins
  DeviceBytes buffer(m * pitch), b(k * n * bytes);
  fill_uniform(buffer.data(), m * pitch / bytes, type, 1);
  fill_uniform(b.data(), k * n, type, 2);
  std::vector<char> before(buffer.size());
  TW_CUDA(cudaMemcpy(before.data(), buffer.data(), before.size(), cudaMemcpyDeviceToHost));
  GemmArguments g = packed(m, n, k, type, Type::kF32);
  g.batches = batches;
  g.a = buffer.data(), g.ld_a = pitch / bytes, g.stride_a = one_a ? 0 : k;
  g.b = b.data(), g.stride_b = 0;
  g.d = buffer.data() + d_at, g.ld_d = pitch / 4, g.stride_d = n;
  std::vector<int64_t> rows(m);
  for (int64_t i = 0; i < m; ++i) rows[i] = i;
  std::vector<double> want(batches * m * n);
  DeviceBytes reference(want.size() * sizeof(double));
  for (int64_t batch = 0; batch < batches; ++batch) {
    GemmArguments one = g;
    one.a = buffer.data() + batch * g.stride_a * bytes;
    reference_rows(one, rows, reinterpret_cast<double*>(reference.data()) + batch * m * n);
  }
  TW_CUDA(cudaMemcpy(want.data(), reference.data(), reference.size(), cudaMemcpyDeviceToHost));
  std::string problem;
  run_and_fetch(g, 4, &problem);
  std::vector<char> after(buffer.size());
  TW_CUDA(cudaMemcpy(after.data(), buffer.data(), after.size(), cudaMemcpyDeviceToHost));
  for (int64_t row = 0; row < m && problem.empty(); ++row) {
    const int64_t at = row * pitch + d_at, end = at + batches * n * 4;
    if (!std::equal(before.begin() + row * pitch, before.begin() + at,
                    after.begin() + row * pitch) ||
        !std::equal(before.begin() + end, before.begin() + (row + 1) * pitch, after.begin() + end))
      problem = "row " + std::to_string(row) + ": written beside D";
    for (int64_t j = 0; j < batches * n && problem.empty(); ++j) {
      const double v = host_value(after.data() + at, j, Type::kF32),
                   w = want[(j / n * m + row) * n + j % n];
      if (!(std::fabs(v - w) <= 1e-3))
        problem = "row " + std::to_string(row) + ", column " + std::to_string(j) + ": " +
                  std::to_string(v) + ", not " + std::to_string(w);
    }
  }
  log.add("faults: windows of one buffer",
          std::string(type_info(type).name) + " " + std::to_string(batches) + " of them" +
              (one_a ? ", one A" : ""),
          problem);
}

}  // namespace

void verify_faults(Log& log) {
  for (Type type : {Type::kBf16, Type::kF32}) {
    verify_windows(log, type, 1, false);
    verify_windows(log, type, 3, false);
    verify_windows(log, type, 3, true);
  }
  // Every element offset of every operand alone, and leading dimensions larger than needed.
  for (Type type : {Type::kBf16, Type::kTf32, Type::kF32, Type::kE4m3}) {
    for (int64_t offset = 0; offset < 16; ++offset) {
      Shape s;
      s.m = 69, s.n = 75, s.k = 83, s.type = type;
      s.type_d = type == Type::kTf32 || type == Type::kF32 ? Type::kF32 : Type::kBf16;
      s.offset = offset;
      s.pad = offset * 7 % 19;
      log.add("faults: offsets and leading dimensions", describe(s), run_shape(s));
      s.transpose_b = true;
      s.order = Order::kColumnMajor;
      log.add("faults: offsets and leading dimensions", describe(s), run_shape(s));
    }
  }
  // One row, one column, nothing at all; C with NaN and beta 0 is part of every run_shape.
  for (Type type : {Type::kBf16, Type::kF32, Type::kE5m2}) {
    const int64_t shapes[][3] = {{1, 999, 333}, {999, 1, 333}, {1, 1, 4097}, {0, 9, 9},
                                 {9, 0, 9},     {9, 9, 0},     {0, 0, 0},    {64, 1, 64}};
    for (const auto& e : shapes) {
      for (const float beta : {0.0f, 1.5f}) {
        Shape s;
        s.m = e[0], s.n = e[1], s.k = e[2], s.type = type, s.beta = beta;
        s.type_d = type == Type::kF32 ? Type::kF32 : Type::kBf16;
        log.add("faults: thin and empty", describe(s), run_shape(s));
      }
    }
  }
  verify_special_values(log, Type::kBf16, NAN, "NaN");
  verify_special_values(log, Type::kBf16, INFINITY, "infinity");
  verify_special_values(log, Type::kF32, NAN, "NaN");
  verify_special_values(log, Type::kF32, INFINITY, "infinity");
  verify_special_values(log, Type::kTf32, NAN, "NaN");
  verify_special_values(log, Type::kTf32, INFINITY, "infinity");
  // Pointers off their element are refused by name, at every byte.
  DeviceBytes buffer(1 << 20);
  for (int byte = 1; byte < 16; ++byte) {
    for (int which = 0; which < 3; ++which) {
      GemmArguments g = packed(64, 64, 64, Type::kF32, Type::kF32);
      const char* base = buffer.data();
      g.a = base + (which == 0 ? byte : 0);
      g.b = base + 65536 + (which == 1 ? byte : 0);
      g.d = buffer.data() + 131072 + (which == 2 ? byte : 0);
      const Status status = gemm(g, nullptr, 0, nullptr);
      const char* name[] = {"a", "b", "d"};
      std::string problem;
      if (byte % 4 == 0 ? !status : (status.ok() || std::strcmp(status.argument, name[which]) != 0))
        problem = status.ok() ? "accepted" : std::string("refused, naming ") + status.argument;
      log.add("faults: bytes", std::string(name[which]) + " + " + std::to_string(byte), problem);
    }
  }
  TW_CUDA(cudaDeviceSynchronize());
  // D over C by one row: refused; D over A: refused; D and C the same matrix: part of verify.
  for (const int rows : {1, 63}) {
    GemmArguments g = packed(64, 64, 64, Type::kF32, Type::kF32);
    g.beta = 1;
    g.a = buffer.data(), g.b = buffer.data() + 65536, g.d = buffer.data() + 131072;
    g.c = buffer.data() + 131072 + rows * 256;
    Status status = gemm(g, nullptr, 0, nullptr);
    log.add("faults: overlap", "C " + std::to_string(rows) + " rows into D",
            !status.ok() && !std::strcmp(status.argument, "c") ? "" : "not refused as c");
    g.c = buffer.data() + 262144;
    g.d = buffer.data() + (64 - rows) * 256;
    status = gemm(g, nullptr, 0, nullptr);
    log.add("faults: overlap", "D " + std::to_string(rows) + " rows into A",
            !status.ok() && !std::strcmp(status.argument, "d") ? "" : "not refused as d");
  }
  verify_large(log, 65600, 32768, 64, Type::kBf16);
  verify_large(log, 65539, 32773, 37, Type::kBf16);
  verify_large(log, 65539, 32773, 37, Type::kF32);
  verify_large(log, 65539, 32773, 40, Type::kE4m3);
}

}  // namespace tilewright::bench
