// See traffic.h for what is counted.
#include "model/traffic.h"

#include <string>

#include "shadow/sectors.h"

namespace tw::model {
namespace {

constexpr uint32_t kLanes = shadow::kWarpLanes;

Error refuse(std::string message) { return Error{std::move(message), "", 0, 0}; }

bool element_ok(uint32_t bytes) { return bytes != 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0; }

double ceil_div(uint64_t a, uint64_t b) { return static_cast<double>((a + b - 1) / b); }

// Sectors of one warp load; lane -> (row, column) of a matrix whose rows are `stride` bytes apart.
template <class Row, class Column>
uint32_t warp_sectors(uint64_t stride, uint32_t element, Row row, Column column) {
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    address[lane] = row(lane) * stride + uint64_t{column(lane)} * element;
  return shadow::count_sectors(address, ~0u, element);
}

bool rows_aligned(uint64_t columns, uint32_t element) {
  return columns * element % shadow::kSectorBytes == 0;
}

Status check(const GemmShape& s) {
  if (s.m == 0 || s.n == 0 || s.k == 0) return refuse("m, n and k must be at least 1");
  if (s.m > kMaxExtent || s.n > kMaxExtent || s.k > kMaxExtent)
    return refuse("m, n and k are limited to 2^30");
  if (!element_ok(s.element_bytes))
    return refuse("the element size must be 1, 2, 4, 8 or 16 bytes");
  const bool any = s.tile_m != 0 || s.tile_n != 0 || s.tile_k != 0;
  const bool all = s.tile_m != 0 && s.tile_n != 0 && s.tile_k != 0;
  if (any != all) return refuse("a tile needs all of its sides");
  if (s.tile_m > 65536 || s.tile_n > 65536 || s.tile_k > 65536)
    return refuse("tile sides are limited to 65536");
  return Unit{};
}

}  // namespace

Result<GemmTraffic> gemm_traffic(const GemmShape& s) {
  if (Status status = check(s); !status.ok()) return std::move(status).error();
  GemmTraffic t;
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n),
             k = static_cast<double>(s.k);
  const double naive_elements = 2 * m * n * k;
  t.flops = 2 * m * n * k;
  t.write_bytes = m * n * s.element_bytes;
  t.compulsory_bytes = (m * k + k * n + m * n) * s.element_bytes;
  t.compulsory_intensity = t.flops / t.compulsory_bytes;
  if (s.tile_m == 0) {
    t.read_elements = naive_elements;
  } else {
    t.read_elements = m * k * ceil_div(s.n, s.tile_n) + k * n * ceil_div(s.m, s.tile_m);
    t.blocks = static_cast<uint64_t>(ceil_div(s.m, s.tile_m) * ceil_div(s.n, s.tile_n));
    t.steps = static_cast<uint64_t>(ceil_div(s.k, s.tile_k));
    t.elements_per_step =
        static_cast<double>(s.tile_m) * s.tile_k + static_cast<double>(s.tile_k) * s.tile_n;
    t.shared_bytes = t.elements_per_step * s.element_bytes;
    const uint32_t tile = s.tile_m;
    const bool square = s.tile_n == tile && s.tile_k == tile && tile <= kLanes &&
                        kLanes % tile == 0 && tile * tile >= kLanes;
    if (square && s.m % tile == 0 && s.n % tile == 0 && s.k % tile == 0 &&
        rows_aligned(s.k, s.element_bytes) && rows_aligned(s.n, s.element_bytes)) {
      // A warp loads kLanes / tile rows of each tile; all warps and steps alike.
      auto row = [&](uint32_t lane) { return lane / tile; };
      auto column = [&](uint32_t lane) { return lane % tile; };
      const double a = warp_sectors(s.k * s.element_bytes, s.element_bytes, row, column);
      const double b = warp_sectors(s.n * s.element_bytes, s.element_bytes, row, column);
      t.load_sectors = (a + b) * (m * n / kLanes) * (k / tile);
    }
  }
  t.read_bytes = t.read_elements * s.element_bytes;
  t.intensity = t.flops / t.read_bytes;
  t.intensity_with_writes = t.flops / (t.read_bytes + t.write_bytes);
  t.reuse = naive_elements / t.read_elements;
  return t;
}

Result<double> naive_gemm_load_sectors(const GemmShape& s, uint32_t block_x, uint32_t block_y) {
  if (Status status = check(s); !status.ok()) return std::move(status).error();
  if (block_x == 0 || block_y == 0 || block_x * block_y % kLanes != 0 ||
      (block_x < kLanes && kLanes % block_x != 0) || (block_x > kLanes && block_x % kLanes != 0) ||
      block_x > 1024 || block_y > 1024)
    return refuse("the block must be made of whole warps whose rows divide 32 lanes");
  if (s.n % block_x != 0 || s.m % block_y != 0 || !rows_aligned(s.k, s.element_bytes) ||
      !rows_aligned(s.n, s.element_bytes))
    return refuse("sectors are counted for whole blocks and rows that start on a sector");
  const uint32_t width = block_x < kLanes ? block_x : kLanes;
  auto row = [&](uint32_t lane) { return lane / width; };
  const double b =
      warp_sectors(0, s.element_bytes, row, [&](uint32_t lane) { return lane % width; });
  const double k = static_cast<double>(s.k);
  // A[row][i] does not depend on the column: one sector a row, i moving inside it.
  const double a = static_cast<double>(kLanes / width);
  return (a + b) * (static_cast<double>(s.m) * static_cast<double>(s.n) / kLanes) * k;
}

Result<TransposeTraffic> transpose_traffic(const TransposeShape& s) {
  if (s.m == 0 || s.n == 0 || s.m > kMaxExtent || s.n > kMaxExtent)
    return refuse("m and n must be between 1 and 2^30");
  if (!element_ok(s.element_bytes))
    return refuse("the element size must be 1, 2, 4, 8 or 16 bytes");
  if (s.m % kLanes != 0 || s.n % kLanes != 0)
    return refuse("the count is exact for whole 32 x 32 tiles: m and n must be multiples of 32");
  if (s.pad > 1024) return refuse("the padding is limited to 1024 elements");
  TransposeTraffic t;
  const uint32_t e = s.element_bytes;
  auto first_row = [](uint32_t) { return 0u; };
  auto same = [](uint32_t lane) { return lane; };
  t.ideal_sectors_per_request = shadow::ideal_sectors(kLanes, e);
  t.read_sectors_per_request = warp_sectors(s.n * e, e, first_row, same);
  t.write_sectors_per_request = s.tiled ? warp_sectors(s.m * e, e, first_row, same)
                                        : warp_sectors(s.m * e, e, same, first_row);
  t.read_efficiency = t.ideal_sectors_per_request / t.read_sectors_per_request;
  t.write_efficiency = t.ideal_sectors_per_request / t.write_sectors_per_request;
  const double elements = static_cast<double>(s.m) * static_cast<double>(s.n);
  t.bytes = 2 * elements * e;
  t.moved_bytes = elements / kLanes * (t.read_sectors_per_request + t.write_sectors_per_request) *
                  shadow::kSectorBytes;
  if (s.tiled) {
    uint32_t row[kLanes], column[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      row[lane] = lane * e;
      column[lane] = lane * (kLanes + s.pad) * e;
    }
    t.store = shadow::count_banks(row, ~0u, e, shadow::SharedAccess::kStore);
    t.load = shadow::count_banks(column, ~0u, e, shadow::SharedAccess::kLoad);
    t.shared_bytes = static_cast<double>(kLanes) * (kLanes + s.pad) * e;
  }
  return t;
}

Result<StreamTraffic> vector_add_traffic(uint64_t n, uint32_t element_bytes) {
  if (n == 0 || n > kMaxExtent << 20) return refuse("n must be between 1 and 2^50");
  if (!element_ok(element_bytes)) return refuse("the element size must be 1, 2, 4, 8 or 16 bytes");
  StreamTraffic t;
  t.bytes = 3.0 * static_cast<double>(n) * element_bytes;
  t.flops = static_cast<double>(n);
  t.intensity = t.flops / t.bytes;
  return t;
}

}  // namespace tw::model
