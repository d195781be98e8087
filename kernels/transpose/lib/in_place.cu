// transpose_in_place().
//
// Square: a CTA takes a pair of tiles that mirror each other, reads both, writes both.
// Rectangular: the decomposition of Catanzaro, Keller and Garland ("A decomposition for in-place
// matrix transposition", PPoPP 2014): with c = gcd(m, n), a = m/c, b = n/c the transpose of a dense
// m x n array is a rotation of every column j by floor(j/b), a permutation of every row i, a
// permutation of every column j:
//   A'[i][j] = A[(i + floor(j/b)) mod m][j]
//   A'[i][d_i(j)] = A[i][j],  d_i(j) = ((i + floor(j/b)) mod m + j m) mod n
//   A'[i][j] = A[s_j(i)][j],  s_j(i) = (j + i n - floor(i/a)) mod m
// Columns or rows are independent, so each CTA permutes one through its own slice of the workspace.
// For m > n the inverse permutations run in reverse order on the n x m view: columns are then the
// short side, and the slices stay small. Limits: three passes, about a third of the copy rate at
// best; few CTAs when the short side is short. Alternatives: one cycle of the permutation at a time
// (no workspace, no locality).
//
// Tested by `tilewright-bench transpose --suite verify`.
#include <algorithm>
#include <numeric>

#include "launch.h"
#include "tilewright/transpose.h"

namespace tilewright::detail {
namespace {

constexpr int kThreads = 256;

template <int kElement> constexpr int kSquareTile = kElement <= 4 ? 64 : 32;

// Index of the pair -> (i, j), j <= i, in the lower triangle of tiles.
__device__ __forceinline__ void triangle(uint32_t pair, uint32_t& i, uint32_t& j) {
  i = uint32_t((sqrt(8.0 * pair + 1.0) - 1.0) * 0.5);
  while (uint64_t(i) * (i + 1) / 2 > pair) --i;
  while (uint64_t(i + 1) * (i + 2) / 2 <= pair) ++i;
  j = pair - uint32_t(uint64_t(i) * (i + 1) / 2);
}

template <int kElement>
__global__ void __launch_bounds__(kThreads)
    square_kernel(char* data, int64_t row_bytes, int64_t n) {
  using Item = typename Unsigned<kElement>::Type;
  constexpr int kTile = kSquareTile<kElement>, kPitch = kTile + 1;
  __shared__ Item lower[kTile * kPitch], upper[kTile * kPitch];
  uint32_t ti, tj;
  triangle(blockIdx.x, ti, tj);
  const int64_t row = int64_t(ti) * kTile, col = int64_t(tj) * kTile;
  const int height = int(min(int64_t(kTile), n - row)), width = int(min(int64_t(kTile), n - col));
  char* at = data + row * row_bytes + col * kElement;      // height x width
  char* mirror = data + col * row_bytes + row * kElement;  // width x height
  for (int u = threadIdx.x; u < kTile * kTile; u += kThreads) {
    const int r = u / kTile, c = u % kTile;
    if (r < height && c < width)
      lower[r * kPitch + c] = load<Item>(at + r * row_bytes + c * kElement);
    if (ti != tj && r < width && c < height)
      upper[r * kPitch + c] = load<Item>(mirror + r * row_bytes + c * kElement);
  }
  __syncthreads();
  const Item* other = ti == tj ? lower : upper;
  for (int u = threadIdx.x; u < kTile * kTile; u += kThreads) {
    const int r = u / kTile, c = u % kTile;
    if (r < height && c < width)
      store<Item>(at + r * row_bytes + c * kElement, other[c * kPitch + r]);
    if (ti != tj && r < width && c < height)
      store<Item>(mirror + r * row_bytes + c * kElement, lower[c * kPitch + r]);
  }
}

struct Rectangle {
  char* data;
  char* workspace;
  int64_t slice;  // elements of workspace a CTA owns
  int64_t m, n;   // the view: m rows (the short side) of n
  int64_t a, b;   // m / gcd, n / gcd
  int width;      // columns permuted together
};

enum class Step { kRotate, kUnrotate, kColumns, kUncolumns, kRows, kUnrows };

__device__ __forceinline__ int64_t row_target(const Rectangle& x, int64_t i, int64_t j) {
  return ((i + j / x.b) % x.m + j * x.m) % x.n;
}

// Where row i of column j comes from (gather) in the step.
template <Step kStep>
__device__ __forceinline__ int64_t column_source(const Rectangle& x, int64_t i, int64_t j) {
  if (kStep == Step::kRotate) return (i + j / x.b) % x.m;
  if (kStep == Step::kUnrotate) return (i + x.m - (j / x.b) % x.m) % x.m;
  return (j + i * x.n - i / x.a) % x.m;
}

template <int kElement, Step kStep>
__global__ void __launch_bounds__(kThreads) permute_columns(const __grid_constant__ Rectangle x) {
  using Item = typename Unsigned<kElement>::Type;
  Item* data = reinterpret_cast<Item*>(x.data);
  Item* slice = reinterpret_cast<Item*>(x.workspace) + int64_t(blockIdx.x) * x.slice;
  for (int64_t first = int64_t(blockIdx.x) * x.width; first < x.n;
       first += int64_t(gridDim.x) * x.width) {
    const int width = int(min(int64_t(x.width), x.n - first));
    for (int64_t u = threadIdx.x; u < x.m * width; u += kThreads) {
      const int64_t i = u / width, j = first + u % width;
      if (kStep == Step::kUncolumns)
        slice[column_source<Step::kColumns>(x, i, j) * width + u % width] = data[i * x.n + j];
      else
        slice[u] = data[column_source<kStep>(x, i, j) * x.n + j];
    }
    __syncthreads();
    for (int64_t u = threadIdx.x; u < x.m * width; u += kThreads)
      data[u / width * x.n + first + u % width] = slice[u];
    __syncthreads();
  }
}

template <int kElement, Step kStep>
__global__ void __launch_bounds__(kThreads) permute_rows(const __grid_constant__ Rectangle x) {
  using Item = typename Unsigned<kElement>::Type;
  Item* slice = reinterpret_cast<Item*>(x.workspace) + int64_t(blockIdx.x) * x.slice;
  for (int64_t i = blockIdx.x; i < x.m; i += gridDim.x) {
    Item* row = reinterpret_cast<Item*>(x.data) + i * x.n;
    for (int64_t j = threadIdx.x; j < x.n; j += kThreads) {
      if (kStep == Step::kRows)
        slice[row_target(x, i, j)] = row[j];
      else
        slice[j] = row[row_target(x, i, j)];
    }
    __syncthreads();
    for (int64_t j = threadIdx.x; j < x.n; j += kThreads) row[j] = slice[j];
    __syncthreads();
  }
}

int strip_width(int element_bytes) { return std::max(1, 64 / element_bytes); }

// Elements of workspace one CTA needs.
int64_t slice_elements(int64_t rows, int64_t cols, int element_bytes) {
  const int64_t m = std::min(rows, cols), n = std::max(rows, cols);
  return std::max(m * std::min<int64_t>(strip_width(element_bytes), n), n);
}

template <int kElement> Status square(void* data, int64_t ld, int64_t n, cudaStream_t stream) {
  constexpr int kTile = kSquareTile<kElement>;
  const int64_t tiles = (n + kTile - 1) / kTile, pairs = tiles * (tiles + 1) / 2;
  if (pairs > 2147483647)
    return {StatusCode::kUnsupported, "rows", "more than 2^31 - 1 pairs of tiles", 0};
  return launch(square_kernel<kElement>, dim3(unsigned(pairs)), kThreads, 0, stream,
                static_cast<char*>(data), ld * kElement, n);
}

template <int kElement>
Status rectangle(void* data, int64_t rows, int64_t cols, void* workspace, size_t workspace_bytes,
                 cudaStream_t stream) {
  Rectangle x{};
  x.data = static_cast<char*>(data);
  x.workspace = static_cast<char*>(workspace);
  x.m = std::min(rows, cols);
  x.n = std::max(rows, cols);
  const int64_t c = std::gcd(x.m, x.n);
  x.a = x.m / c;
  x.b = x.n / c;
  x.slice = slice_elements(rows, cols, kElement);
  x.width = int(std::min<int64_t>(strip_width(kElement), x.n));
  const int64_t slices = int64_t(workspace_bytes) / (x.slice * kElement);
  const unsigned for_columns = unsigned(std::min<int64_t>(slices, (x.n + x.width - 1) / x.width));
  const unsigned for_rows = unsigned(std::min<int64_t>(slices, x.m));
  Status status;
  if (rows <= cols) {
    if (c > 1)
      status = launch(permute_columns<kElement, Step::kRotate>, dim3(for_columns), kThreads, 0,
                      stream, x);
    if (status.ok())
      status = launch(permute_rows<kElement, Step::kRows>, dim3(for_rows), kThreads, 0, stream, x);
    if (status.ok())
      status = launch(permute_columns<kElement, Step::kColumns>, dim3(for_columns), kThreads, 0,
                      stream, x);
  } else {
    status = launch(permute_columns<kElement, Step::kUncolumns>, dim3(for_columns), kThreads, 0,
                    stream, x);
    if (status.ok())
      status =
          launch(permute_rows<kElement, Step::kUnrows>, dim3(for_rows), kThreads, 0, stream, x);
    if (status.ok() && c > 1)
      status = launch(permute_columns<kElement, Step::kUnrotate>, dim3(for_columns), kThreads, 0,
                      stream, x);
  }
  return status;
}

Status refuse(const char* argument, const char* message) {
  return {StatusCode::kInvalidArgument, argument, message, 0};
}

}  // namespace
}  // namespace tilewright::detail

namespace tilewright {

size_t transpose_in_place_workspace(int64_t rows, int64_t cols, int element_bytes) noexcept {
  const int e = element_bytes;
  if (rows <= 1 || cols <= 1 || rows == cols || (e != 1 && e != 2 && e != 4 && e != 8 && e != 16))
    return 0;
  int64_t elements = 0;
  if (__builtin_mul_overflow(rows, cols, &elements) || elements > INT64_MAX / e) return 0;
  // As many slices as an eighth of the matrix has room for, at least one, at most two for each of
  // 132 SMs.
  const int64_t slice = detail::slice_elements(rows, cols, e);
  return size_t(slice * std::clamp<int64_t>(elements / 8 / slice, 1, 264) * e);
}

Status transpose_in_place(void* data, int64_t ld, int64_t rows, int64_t cols, int element_bytes,
                          void* workspace, size_t workspace_bytes, cudaStream_t stream) noexcept {
  using detail::refuse;
  const int e = element_bytes;
  if (e != 1 && e != 2 && e != 4 && e != 8 && e != 16)
    return refuse("element_bytes", "must be 1, 2, 4, 8 or 16");
  if (rows < 0) return refuse("rows", "is negative");
  if (cols < 0) return refuse("cols", "is negative");
  if (rows == 0 || cols == 0) return {};
  if (!data) return refuse("data", "is null");
  if (reinterpret_cast<uint64_t>(data) % uint64_t(e))
    return refuse("data", "is not a multiple of the element");
  if (ld < cols) return refuse("ld", "is less than cols");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, ld, &bytes) || bytes > INT64_MAX / e)
    return refuse("ld", "the matrix reaches beyond 2^63 bytes");
  if (rows != cols) {
    if (ld != cols) return refuse("ld", "a rectangular matrix must have no gaps: ld == cols");
    if (rows == 1 || cols == 1) return {};  // the bytes keep their order
    const int64_t least = detail::slice_elements(rows, cols, e) * e;
    if (!workspace) return refuse("workspace", "is null; a rectangular matrix needs one");
    if (reinterpret_cast<uint64_t>(workspace) % uint64_t(e))
      return refuse("workspace", "is not a multiple of the element");
    if (workspace_bytes < size_t(least))
      return {StatusCode::kWorkspaceTooSmall, "workspace_bytes",
              "is less than transpose_in_place_workspace asks for", 0};
  }
  auto run = [&](auto size) {
    constexpr int kElement = decltype(size)::value;
    return rows == cols
               ? detail::square<kElement>(data, ld, rows, stream)
               : detail::rectangle<kElement>(data, rows, cols, workspace, workspace_bytes, stream);
  };
  switch (e) {
    case 1: return run(std::integral_constant<int, 1>{});
    case 2: return run(std::integral_constant<int, 2>{});
    case 4: return run(std::integral_constant<int, 4>{});
    case 8: return run(std::integral_constant<int, 8>{});
    default: return run(std::integral_constant<int, 16>{});
  }
}

}  // namespace tilewright
