// tilewright-bench transpose: the library against the copy of the same bytes, cuBLAS geam and the
// textbook step, over the suites below. Every candidate is checked, element by element, on the
// device.
//   squares   large squares of each element size
//   ragged    odd sizes, strips, sub-matrices, batches
//   small     up to 1024 x 1024
//   permute   image, attention, contraction layouts
//   inplace   square and rectangular
//   verify    many odd shapes and alignments, checks only
//   ladder    every step of kernels/transpose
//   overhead  host time of a call beside a bare launch
// Default: squares, ragged, small.
#include <cublas_v2.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "copy.h"
#include "frame.h"
#include "ladder.h"
#include "overhead.h"
#include "tilewright/transpose.h"

namespace tilewright::bench {
namespace {

// ---- references
// -------------------------------------------------------------------------------------

// The textbook step: 32 x 32 tile, padded by one element, 32 x 8 threads.
template <class T>
__global__ void textbook_kernel(T* out, const T* in, int64_t rows, int64_t cols, int64_t ld_in,
                                int64_t ld_out) {
  __shared__ T tile[32][33];
  int64_t c = blockIdx.x * 32ll + threadIdx.x, r = blockIdx.y * 32ll + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < cols) tile[threadIdx.y + k][threadIdx.x] = in[(r + k) * ld_in + c];
  __syncthreads();
  c = blockIdx.x * 32ll + threadIdx.y, r = blockIdx.y * 32ll + threadIdx.x;
  for (int k = 0; k < 32; k += 8)
    if (r < rows && c + k < cols) out[(c + k) * ld_out + r] = tile[threadIdx.x][threadIdx.y + k];
}

struct Strides {
  int dims;
  int64_t size[8], in[8], out[8];  // in elements, output order
};

// wrong[0]: elements that differ from the definition; wrong[1]: bytes of the output's elements that
// are 0x5a.
__global__ void check_kernel(const char* in, const char* out, int element, int64_t total, Strides s,
                             unsigned long long* wrong) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    int64_t rest = i, from = 0, to = 0;
    for (int d = s.dims - 1; d >= 0; --d) {
      int64_t at = rest % s.size[d];
      rest /= s.size[d];
      from += at * s.in[d];
      to += at * s.out[d];
    }
    bool differs = false;
    unsigned poison = 0;
    for (int b = 0; b < element; ++b) {
      differs |= in[from * element + b] != out[to * element + b];
      poison += out[to * element + b] == 0x5a;
    }
    if (differs) atomicAdd(wrong, 1ull);
    if (poison) atomicAdd(wrong + 1, poison);
  }
}

// Bytes of [0, bytes) that hold 0x5a.
__global__ void count_poison(const unsigned char* p, int64_t bytes, unsigned long long* count) {
  unsigned long long mine = 0;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < bytes;
       i += int64_t(gridDim.x) * blockDim.x)
    mine += p[i] == 0x5a;
  if (mine) atomicAdd(count, mine);
}

unsigned long long* counters() {
  static unsigned long long* p = nullptr;
  if (!p) TW_CUDA(cudaMalloc(&p, 16));
  return p;
}

std::string compare(const void* in, const void* out, int element, const Strides& s) {
  int64_t total = 1;
  for (int d = 0; d < s.dims; ++d) total *= s.size[d];
  TW_CUDA(cudaMemset(counters(), 0, 16));
  if (total)
    check_kernel<<<1024, 256>>>(static_cast<const char*>(in), static_cast<const char*>(out),
                                element, total, s, counters());
  TW_CUDA(cudaGetLastError());
  unsigned long long wrong = 0;
  TW_CUDA(cudaMemcpy(&wrong, counters(), 8, cudaMemcpyDeviceToHost));
  return wrong ? std::to_string(wrong) + " wrong elements of " + std::to_string(total) : "";
}

std::string status_text(const Status& s) {
  return s.ok() ? ""
                : std::string("refused: ") + s.argument + " " + s.message +
                      (s.cuda_error ? ", CUDA error " + std::to_string(s.cuda_error) : "");
}

void require(const Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "tilewright-bench transpose: %s\n", status_text(s).c_str());
  std::exit(3);
}

// ---- cases
// ------------------------------------------------------------------------------------------

struct Shape {
  const char* what;  // "" or a word for the table
  int64_t rows, cols;
  int64_t ld_in = 0, ld_out = 0;  // 0: dense
  int64_t batch = 1;
  int offset_in = 0, offset_out = 0;  // elements past an aligned address
};

const char* type_name(int element) {
  return element == 1   ? "b8"
         : element == 2 ? "b16"
         : element == 4 ? "b32"
         : element == 8 ? "b64"
                        : "b128";
}

bool type_selected(const Options& options, int element) {
  if (options.types.empty()) return true;
  for (const std::string& t : options.types)
    if (t == type_name(element) || t == std::to_string(element)) return true;
  return false;
}

cublasHandle_t cublas() {
  static cublasHandle_t handle = nullptr;
  if (!handle) {
    cublasCreate(&handle);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  }
  return handle;
}

// Row-major out (cols x rows) = in^T: column-major, out is rows x cols with ld_out, in cols x rows
// with ld_in.
void geam(int element, const Shape& s, int64_t ld_in, int64_t ld_out, const void* in, void* out,
          cudaStream_t stream) {
  cublasSetStream(cublas(), stream);
  cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
  const int m = int(s.rows), n = int(s.cols);
  if (element == 4) {
    const float one = 1, zero = 0;
    status = cublasSgeam(
        cublas(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, static_cast<const float*>(in), int(ld_in),
        &zero, static_cast<const float*>(out), int(ld_out), static_cast<float*>(out), int(ld_out));
  } else if (element == 8) {
    const double one = 1, zero = 0;
    status =
        cublasDgeam(cublas(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, static_cast<const double*>(in),
                    int(ld_in), &zero, static_cast<const double*>(out), int(ld_out),
                    static_cast<double*>(out), int(ld_out));
  } else if (element == 16) {
    const cuDoubleComplex one = {1, 0}, zero = {0, 0};
    status = cublasZgeam(cublas(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one,
                         static_cast<const cuDoubleComplex*>(in), int(ld_in), &zero,
                         static_cast<const cuDoubleComplex*>(out), int(ld_out),
                         static_cast<cuDoubleComplex*>(out), int(ld_out));
  }
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "cublas geam: status %d\n", int(status));
    std::exit(3);
  }
}

__global__ void finite_kernel(
    uint32_t* words, size_t count) {  // clears an exponent bit: no NaN or infinity for geam
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] &= 0xbfffffffu;
}

// The copies of the same bytes. "overlapped" starts as the library's kernels do, while the launch
// before it ends; the tables' column "copy" is the faster of the other two.
void add_copies(std::vector<Candidate>& candidates, const RotatingBuffers& in,
                const RotatingBuffers& out, size_t bytes) {
  candidates.push_back(
      {"memcpy",
       [&in, &out, bytes](int slot, cudaStream_t stream) {
         TW_CUDA(cudaMemcpyAsync(out[slot], in[slot], bytes, cudaMemcpyDeviceToDevice, stream));
       },
       nullptr, true});
  for (bool overlapped : {false, true})
    candidates.push_back({overlapped ? "overlapped copy kernel" : "copy kernel",
                          [&in, &out, bytes, overlapped](int slot, cudaStream_t stream) {
                            copy_kernel(out[slot], in[slot], bytes, stream, overlapped);
                          },
                          nullptr, true});
}

// One shape's operands, and the candidates that move them.
struct ShapeRun {
  const int element;
  const Shape s;
  const int64_t ld_in, ld_out, stride_in, stride_out;  // batches lie back to back
  const size_t in_bytes, out_bytes, moved;
  RotatingBuffers in, out;
  const Strides strides;
  std::vector<Candidate> candidates;

  ShapeRun(int e, const Shape& shape)
      : element(e),
        s(shape),
        ld_in(s.ld_in ? s.ld_in : s.cols),
        ld_out(s.ld_out ? s.ld_out : s.rows),
        stride_in(s.rows * ld_in),
        stride_out(s.cols * ld_out),
        in_bytes(size_t((s.batch - 1) * stride_in + (s.rows - 1) * ld_in + s.cols + s.offset_in) *
                 e),
        out_bytes(
            size_t((s.batch - 1) * stride_out + (s.cols - 1) * ld_out + s.rows + s.offset_out) * e),
        moved(size_t(2) * s.rows * s.cols * s.batch * e),
        in(in_bytes, moved),
        out(out_bytes, moved),
        strides{3, {s.batch, s.cols, s.rows}, {stride_in, 1, ld_in}, {stride_out, ld_out, 1}} {
    in.randomise(uint64_t(s.rows * 31 + s.cols));
    if (element < 4) return;
    for (int i = 0; i < in.count(); ++i)
      finite_kernel<<<1024, 256>>>(static_cast<uint32_t*>(in[i]), in_bytes / 4);
    TW_CUDA(cudaDeviceSynchronize());
  }
  ShapeRun(const ShapeRun&) = delete;  // the candidates hold its address

  const char* source(int slot) const {
    return static_cast<const char*>(in[slot]) + s.offset_in * element;
  }
  char* target(int slot) const { return static_cast<char*>(out[slot]) + s.offset_out * element; }

  // Every element is right, and nothing but the matrix was written: outside its elements every byte
  // still holds the poison.
  template <class Launch> std::string check(Launch launch) {
    out.fill(0x5a);
    launch(0, cudaStreamPerThread);
    TW_CUDA(cudaDeviceSynchronize());
    std::string error = compare(source(0), target(0), element, strides);
    if (!error.empty()) return error;
    unsigned long long inside = 0, all = 0;
    TW_CUDA(cudaMemcpy(&inside, counters() + 1, 8, cudaMemcpyDeviceToHost));
    TW_CUDA(cudaMemset(counters(), 0, 16));
    count_poison<<<1024, 256>>>(static_cast<const unsigned char*>(out[0]), int64_t(out_bytes),
                                counters());
    TW_CUDA(cudaMemcpy(&all, counters(), 8, cudaMemcpyDeviceToHost));
    return all - inside != out_bytes - moved / 2 ? "bytes between the rows were written" : "";
  }
  template <class Launch> void add(const std::string& name, Launch launch) {
    candidates.push_back({name, launch, [this, launch] { return check(launch); }, true});
  }

  void add_ours() {
    add("tilewright", [this](int slot, cudaStream_t stream) {
      require(transpose(source(slot), ld_in, target(slot), ld_out, s.rows, s.cols, element,
                        {s.batch, stride_in, stride_out}, stream));
    });
  }

  void add_textbook() {
    add("textbook", [this](int slot, cudaStream_t stream) {
      dim3 grid(unsigned((s.cols + 31) / 32), unsigned((s.rows + 31) / 32)), block(32, 8);
      auto go = [&](auto zero) {
        using T = decltype(zero);
        textbook_kernel<T><<<grid, block, 0, stream>>>(reinterpret_cast<T*>(target(slot)),
                                                       reinterpret_cast<const T*>(source(slot)),
                                                       s.rows, s.cols, ld_in, ld_out);
      };
      switch (element) {
        case 1: go(uint8_t{}); break;
        case 2: go(uint16_t{}); break;
        case 4: go(uint32_t{}); break;
        case 8: go(uint64_t{}); break;
        default: go(uint4{}); break;
      }
      TW_CUDA(cudaGetLastError());
    });
  }

  void add_references() {
    add_copies(candidates, in, out, moved / 2);
    if (s.batch != 1) return;
    if (element >= 4)
      add("geam", [this](int slot, cudaStream_t stream) {
        geam(element, s, ld_in, ld_out, source(slot), target(slot), stream);
      });
    if ((s.rows + 31) / 32 <= 65535) add_textbook();
  }

  void add_ladder() {
    if (ld_in != s.cols || ld_out != s.rows || s.batch != 1) return;
    for (const TransposeLadderStep& step : transpose_ladder()) {
      if (step.element_bytes != element) continue;
      auto launch = [this, &step](int slot, cudaStream_t stream) {
        step.launch(source(slot), target(slot), int(s.rows), int(s.cols), stream);
        TW_CUDA(cudaGetLastError());
      };
      if (step.copies)
        candidates.push_back({step.name, launch, nullptr, true});
      else
        add(step.name, launch);
    }
  }
};

void run_shape(int element, const Shape& s, const Options& options, std::vector<Case>& cases,
               bool ladder = false) {
  if (out_of_time(options)) return;
  ShapeRun run(element, s);
  Case c;
  c.name = std::string(type_name(element)) + " " +
           (s.batch > 1 ? std::to_string(s.batch) + " of " : "") + std::to_string(s.rows) + "x" +
           std::to_string(s.cols) + (*s.what ? std::string(" ") + s.what : "");
  c.fields = {{"type", type_name(element)},
              {"rows", std::to_string(s.rows)},
              {"cols", std::to_string(s.cols)},
              {"ld_in", std::to_string(run.ld_in)},
              {"ld_out", std::to_string(run.ld_out)},
              {"batch", std::to_string(s.batch)},
              {"what", s.what}};
  c.work = double(run.moved);
  run.add_ours();
  if (!options.verify_only) run.add_references();
  if (ladder) run.add_ladder();
  measure(c, run.candidates, options);
  print_case(c);
  cases.push_back(c);
}

// ---- permute
// ----------------------------------------------------------------------------------------

struct Permutation {
  const char* what;
  int element;
  std::vector<int64_t> sizes;
  std::vector<int> order;
};

const Permutation kPermutations[] = {
    {"NCHW to NHWC", 4, {32, 3, 512, 512}, {0, 2, 3, 1}},
    {"NHWC to NCHW", 4, {32, 512, 512, 3}, {0, 3, 1, 2}},
    {"NCHW to NHWC", 2, {64, 64, 128, 128}, {0, 2, 3, 1}},
    {"NHWC to NCHW", 2, {64, 128, 128, 64}, {0, 3, 1, 2}},
    {"NCHW to NHWC", 1, {64, 3, 512, 512}, {0, 2, 3, 1}},
    {"NHWC to NCHW", 1, {64, 512, 512, 3}, {0, 3, 1, 2}},
    {"NCHW to NHWC", 2, {32, 256, 56, 56}, {0, 2, 3, 1}},
    {"NHWC to NCHW", 2, {32, 56, 56, 256}, {0, 3, 1, 2}},
    {"NCDHW to NDHWC", 4, {8, 16, 16, 112, 112}, {0, 2, 3, 4, 1}},
    {"BSHD to BHSD", 2, {8, 2048, 32, 64}, {0, 2, 1, 3}},
    {"BHSD to BSHD", 2, {8, 32, 2048, 128}, {0, 2, 1, 3}},
    {"BHSD to BHDS (K^T)", 2, {8, 32, 2048, 128}, {0, 1, 3, 2}},
    {"BS(3HD) to 3BHSD", 2, {4, 2048, 3, 16, 128}, {2, 0, 3, 1, 4}},
    {"SBHD to BHSD", 4, {2048, 8, 16, 64}, {1, 2, 0, 3}},
    {"windows of 7x7", 4, {16, 8, 7, 8, 7, 96}, {0, 1, 3, 2, 4, 5}},
    {"patches of 16x16", 4, {64, 3, 14, 16, 14, 16}, {0, 2, 4, 3, 5, 1}},
    {"abc to cba", 4, {384, 384, 384}, {2, 1, 0}},
    {"abc to bca", 4, {384, 384, 384}, {1, 2, 0}},
    {"abcd to dcba", 4, {80, 80, 80, 80}, {3, 2, 1, 0}},
    {"abcd to badc", 8, {64, 64, 64, 64}, {1, 0, 3, 2}},
    {"abcd to cdab", 8, {72, 72, 72, 72}, {2, 3, 0, 1}},
    {"abcdef to fbdaec", 4, {16, 16, 16, 16, 16, 16}, {5, 1, 3, 0, 4, 2}},
    {"8 dims reversed", 4, {8, 8, 8, 8, 8, 8, 8, 8}, {7, 6, 5, 4, 3, 2, 1, 0}},
    {"complex abc to bac", 16, {256, 256, 256}, {1, 0, 2}},
};

void run_permutation(const Permutation& p, const Options& options, std::vector<Case>& cases) {
  if (out_of_time(options) || !type_selected(options, p.element)) return;
  const int dims = int(p.sizes.size());
  int64_t total = 1;
  for (int64_t n : p.sizes) total *= n;
  const size_t bytes = size_t(total) * p.element;
  RotatingBuffers in(bytes, 2 * bytes), out(bytes, 2 * bytes);
  in.randomise(uint64_t(total));
  Strides s{dims, {}, {}, {}};
  std::vector<int64_t> stride(p.sizes.size(), 1);
  for (int d = dims - 2; d >= 0; --d) stride[d] = stride[d + 1] * p.sizes[d + 1];
  int64_t at = 1;
  for (int d = dims - 1; d >= 0; --d) {
    s.size[d] = p.sizes[p.order[d]];
    s.in[d] = stride[p.order[d]];
    s.out[d] = at;
    at *= s.size[d];
  }
  Case c;
  std::string sizes, order;
  for (int d = 0; d < dims; ++d) {
    sizes += (d ? "x" : "") + std::to_string(p.sizes[d]);
    order += (d ? "," : "") + std::to_string(p.order[d]);
  }
  c.name = std::string(type_name(p.element)) + " " + p.what + " " + sizes;
  c.fields = {{"type", type_name(p.element)}, {"what", p.what}, {"sizes", sizes}, {"order", order}};
  c.work = 2.0 * bytes;
  auto ours = [&](int slot, cudaStream_t stream) {
    require(permute(in[slot], out[slot], dims, p.sizes.data(), p.order.data(), p.element, stream));
  };
  std::vector<Candidate> candidates = {
      {"tilewright", ours,
       [&]() -> std::string {
         out.fill(0x5a);
         ours(0, nullptr);
         TW_CUDA(cudaDeviceSynchronize());
         return compare(in[0], out[0], p.element, s);
       },
       true},
  };
  if (!options.verify_only) add_copies(candidates, in, out, bytes);
  measure(c, candidates, options);
  print_case(c);
  cases.push_back(c);
}

// ---- in place
// ---------------------------------------------------------------------------------------

void run_in_place(int element, int64_t rows, int64_t cols, const Options& options,
                  std::vector<Case>& cases) {
  if (out_of_time(options)) return;
  const size_t bytes = size_t(rows) * cols * element;
  RotatingBuffers data(bytes, 2 * bytes);
  data.randomise(5);
  const size_t workspace_bytes = transpose_in_place_workspace(rows, cols, element);
  void *workspace = nullptr, *original = nullptr;
  TW_CUDA(cudaMalloc(&workspace, workspace_bytes + 16));
  TW_CUDA(cudaMalloc(&original, bytes));
  TW_CUDA(cudaMemcpy(original, data[0], bytes, cudaMemcpyDeviceToDevice));
  Case c;
  c.name = std::string(type_name(element)) + " in place " + std::to_string(rows) + "x" +
           std::to_string(cols);
  c.fields = {{"type", type_name(element)},
              {"what", "in place"},
              {"rows", std::to_string(rows)},
              {"cols", std::to_string(cols)},
              {"workspace_bytes", std::to_string(workspace_bytes)}};
  c.work = 2.0 * bytes;
  auto ours = [&](int slot, cudaStream_t stream) {
    require(transpose_in_place(data[slot], cols, rows, cols, element, workspace, workspace_bytes,
                               stream));
  };
  measure(c,
          {{"tilewright", ours,
            [&]() -> std::string {
              ours(0, nullptr);
              TW_CUDA(cudaDeviceSynchronize());
              return compare(original, data[0], element, {2, {cols, rows}, {1, cols}, {rows, 1}});
            },
            true}},
          options);
  print_case(c);
  cases.push_back(c);
  cudaFree(workspace);
  cudaFree(original);
}

bool wants(const Options& options, const char* suite, bool by_default) {
  return options.suite.empty() ? by_default
                               : ("," + options.suite + ",").find("," + std::string(suite) + ",") !=
                                     std::string::npos;
}

constexpr int kElements[] = {4, 8, 16, 2, 1};

// Returns 2 when a size makes no sense.
int run_sizes(const Options& options, std::vector<Case>& cases) {
  for (int e : kElements) {
    if (!type_selected(options, e)) continue;
    for (const std::string& text : options.sizes) {
      const std::vector<int64_t> size = parse_size(text, 2);
      if (size.empty()) return 2;
      run_shape(e, {"", size.front(), size.back()}, options, cases);
    }
  }
  return 0;
}

// From 64 MiB a matrix: two powers of four up.
void run_squares(int e, const Options& options, std::vector<Case>& cases) {
  const std::pair<int64_t, int64_t> sizes[3] = {e == 8   ? std::pair<int64_t, int64_t>(4096, 2048)
                                                : e == 2 ? std::pair<int64_t, int64_t>(4096, 8192)
                                                : e == 4 ? std::pair<int64_t, int64_t>(4096, 4096)
                                                : e == 1 ? std::pair<int64_t, int64_t>(8192, 8192)
                                                         : std::pair<int64_t, int64_t>(2048, 2048),
                                                e == 1   ? std::pair<int64_t, int64_t>(16384, 16384)
                                                : e <= 4 ? std::pair<int64_t, int64_t>(8192, 8192)
                                                         : std::pair<int64_t, int64_t>(4096, 4096),
                                                e == 1   ? std::pair<int64_t, int64_t>(32768, 32768)
                                                : e <= 4 ? std::pair<int64_t, int64_t>(16384, 16384)
                                                         : std::pair<int64_t, int64_t>(8192, 8192)};
  for (auto [rows, cols] : sizes) run_shape(e, {"", rows, cols}, options, cases);
}

void run_ragged(int e, const Options& options, std::vector<Case>& cases) {
  const Shape shapes[] = {
      {"", 8191, 8191},
      {"", 8190, 4097},
      {"", 100003, 257},
      {"tall", 1 << 20, 8},
      {"tall", 1 << 20, 3},
      {"wide", 8, 1 << 20},
      {"wide", 3, 1 << 20},
      {"sub, odd ld", 4096, 4096, 4501, 4327},
      {"sub, odd ld and start", 4096, 4096, 4501, 4327, 1, 3, 5},
      {"sub, ld 8192", 4096, 4096, 8192, 8192},
      {"batch", 64, 64, 0, 0, 4096},
      {"batch", 32, 32, 0, 0, 16384},
  };
  for (const Shape& s : shapes) run_shape(e, s, options, cases);
}

void run_small(int e, const Options& options, std::vector<Case>& cases) {
  for (int64_t n : {128, 256, 512, 1024, 1000}) run_shape(e, {"", n, n}, options, cases);
}

void run_ladder(int e, const Options& options, std::vector<Case>& cases) {
  if (e != 4 && e != 1) return;
  for (int64_t n : {4096, 8192, 8191}) run_shape(e, {"", n, n}, options, cases, true);
}

void run_in_places(int e, const Options& options, std::vector<Case>& cases) {
  if (e != 4 && e != 1 && e != 16) return;
  for (auto [rows, cols] :
       {std::pair(8192, 8192), std::pair(4097, 4097), std::pair(8192, 4096), std::pair(4001, 6007)})
    run_in_place(e, rows, cols, options, cases);
}

void run_verify(int e, const Options& verify, std::vector<Case>& cases) {
  for (int64_t rows : {1, 2, 7, 33, 128, 255, 1025})
    for (int64_t cols : {1, 3, 16, 65, 256, 1023}) {
      run_shape(e, {"", rows, cols}, verify, cases);
      run_shape(e, {"ld", rows, cols, cols + 3, rows + 5, 1, 1, 7}, verify, cases);
      run_shape(e, {"aligned ld", rows, cols, (cols + 15) / 16 * 16, (rows + 31) / 16 * 16}, verify,
                cases);
      run_shape(e, {"", rows, cols, 0, 0, 5}, verify, cases);
    }
  for (auto [rows, cols] : {std::pair(2, 3), std::pair(40, 64), std::pair(129, 31),
                            std::pair(300, 300), std::pair(1000, 8)})
    run_in_place(e, rows, cols, verify, cases);
  // Panels: rows on sectors and 128 KiB apart, a size that is no multiple of anything. Whole columns
  // with two, one and no column fetched.
  if (e == 16) {
    run_shape(e, {"panels", 3001, 2222, 8192, 3002}, verify, cases);
    for (int rows : {3001, 8201, 16501})
      run_shape(e, {"columns", rows, 515, 516, rows + 1}, verify, cases);
  }
  // Clusters of a tile row, with few columns past whole tiles, and of two tiles beside two.
  run_shape(e, {"narrow", 30003, 257}, verify, cases);
  if (e < 4) run_shape(e, {"narrow, ld", 60003, 133, 135, 60005, 1, 1, 7}, verify, cases);
  if (e == 1) run_shape(e, {"clusters", 12001, 9001}, verify, cases);
  if (e == 1 || e == 16) run_shape(e, {"past 2^31 elements", 50001, 43003}, verify, cases);
}

void run_small_permutations(const Options& verify, std::vector<Case>& cases) {
  for (Permutation p : kPermutations) {
    for (int64_t& n : p.sizes) n = n > 64 ? n / 8 + 1 : n;
    run_permutation(p, verify, cases);
    for (int64_t& n : p.sizes) n = n > 5 ? 5 : n;
    run_permutation(p, verify, cases);
  }
}

}  // namespace

int run_transpose(const Options& options, std::vector<Case>& cases) {
  if (!options.sizes.empty()) return run_sizes(options, cases);
  Options verify = options;
  verify.verify_only = true;
  auto each = [&](const char* suite, bool by_default, auto run, const Options& with) {
    if (!wants(options, suite, by_default)) return;
    for (int e : kElements)
      if (type_selected(options, e)) run(e, with, cases);
  };
  each("squares", true, run_squares, options);
  each("ragged", true, run_ragged, options);
  each("small", true, run_small, options);
  each("ladder", false, run_ladder, options);
  each("inplace", false, run_in_places, options);
  each("verify", false, run_verify, verify);
  if (wants(options, "verify", false)) run_small_permutations(verify, cases);
  if (wants(options, "overhead", false)) run_overhead(options, cases);
  if (wants(options, "permute", false))
    for (const Permutation& p : kPermutations) run_permutation(p, options, cases);
  return 0;
}

}  // namespace tilewright::bench
