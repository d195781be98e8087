// What the GEMM benchmark and its verification share: element types, filled operands, the
// reference.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "frame.h"
#include "tilewright/gemm.h"

namespace tilewright::bench {

struct TypeInfo {
  const char* name;
  Type type;
  int bytes;
  cudaDataType cuda;
};
const TypeInfo* find_type(const std::string& name);  // f32 tf32 bf16 f16 e4m3 e5m2; null: unknown
const TypeInfo& type_info(Type type);

// Uniform in [-1, 1), rounded to the type.
void fill_uniform(void* data, int64_t count, Type type, uint64_t seed);

// out[i * n + j] in double of the product's rows rows[i] (device memory), from operands as
// GemmArguments (row-major) describes them; alpha, beta and C are not applied. Batch 0.
void reference_rows(const GemmArguments& g, const std::vector<int64_t>& rows, double* out);

// Copies rows x columns into a larger matrix, zeros outside, as a user would write it.
void pad(const void* in, int64_t rows, int64_t columns, int64_t ld_in, void* out, int64_t out_rows,
         int64_t ld_out, int bytes, cudaStream_t stream);

// Host value of element `i` of an array of `type`.
double host_value(const void* data, int64_t i, Type type);

// Checks every tile, layout, output, offset and fault case of the library. Appends one case each.
void verify_gemm(const Options& options, std::vector<Case>& cases);

}  // namespace tilewright::bench
