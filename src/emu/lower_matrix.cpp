// Warp-level matrix instructions. ldmatrix and stmatrix are a load or store of a row of 16 bytes a
// lane, so that bounds, races and bank conflicts are those of any access, and an exchange between
// lanes (Builtin::matrix_move). mma is one Builtin::matrix_multiply, wmma.mma two where its
// matrices are wider.
//
// Which lane holds which element of a wmma fragment is left open by the manual; here it is the
// layout of mma (isa/matrix.h), which is also that of GPUs since compute capability 8.0.
// wmma.load and wmma.store are loads and stores of each lane's elements, neighbours together.
//
// Tested by tests/isa (matrix_cases.cpp), tests/e2e and step 14 of kernels/gemm.
#include <fmt/format.h>

#include "emu/lowering.h"
#include "isa/lane_rows.h"
#include "isa/matrix.h"

namespace tw::emu {
namespace {

constexpr uint32_t kAllLanes = 0xffffffff;

using Coordinate = isa::LaneCoordinate;
struct Cell {
  Coordinate row, column;
};
using Cells = std::vector<Cell>;  // the elements of one register

// One operand of wmma: cells[r] for the registers that hold it once.
struct Fragment {
  std::vector<Cells> cells;
  uint32_t bits = 32;
};

isa::MatrixElement element_of_type(Type type) {
  switch (type) {
    case Type::f16: return isa::kElementF16;
    case Type::bf16: return isa::kElementBf16;
    case Type::tf32: return isa::kElementTf32;
    case Type::f64: return isa::kElementF64;
    default: return isa::kElementByte;
  }
}

// The shapes that a type of factors has.
bool fits(Type factor, uint8_t geometry) {
  switch (factor) {
    case Type::tf32: return geometry == isa::kM16N16K8;
    case Type::f64: return geometry == isa::kM8N8K4;
    default:
      return geometry == isa::kM16N16K16 || geometry == isa::kM32N8K16 ||
             geometry == isa::kM8N32K16;
  }
}
bool sum_fits(Type sum, uint8_t geometry) {
  if (sum == Type::f64) return geometry == isa::kM8N8K4;
  return geometry != isa::kM8N8K4 && (sum == Type::f32 || geometry != isa::kM16N16K8);
}

// m8n32 is computed as the transposed product, n32m8: then B is the factor with 16 rows a tile.
bool is_turned(uint8_t geometry) { return geometry == isa::kM8N32K16; }

// A tile of a product is 16 (of f64: 8) x 8. Tiles along the long side, along the short side.
struct Tiles {
  uint32_t rows = 16, tall = 1, wide = 1;
};
Tiles tiles_of(uint8_t geometry) {
  switch (geometry) {
    case isa::kM8N8K4: return {8, 1, 1};
    case isa::kM32N8K16:
    case isa::kM8N32K16: return {16, 2, 1};
    default: return {16, 1, 2};
  }
}

Fragment factor_fragment(uint8_t geometry, Type type, bool is_a) {
  Fragment f;
  f.bits = isa::element_bits(element_of_type(type));
  const Tiles tiles = tiles_of(geometry);
  const uint32_t elements = f.bits >= 32 ? 1 : 32 / f.bits;
  const bool tall = is_a != is_turned(geometry);
  const uint32_t groups = tall ? tiles.rows / 8 : 1, count = tall ? tiles.tall : tiles.wide,
                 depth = isa::kGeometrySizes[geometry].k / (4 * elements);
  for (uint32_t tile = 0; tile < count; ++tile)
    for (uint32_t r = 0; r < groups * depth; ++r) {
      Cells cells;
      for (uint32_t e = 0; e < elements; ++e) {
        Coordinate across = isa::factor_row(r, groups);
        across.c += 8 * groups * tile;
        const Coordinate k = isa::factor_k(r, groups, elements, e);
        cells.push_back(is_a ? Cell{across, k} : Cell{k, across});
      }
      f.cells.push_back(cells);
    }
  return f;
}

Fragment sum_fragment(uint8_t geometry, Type type) {
  Fragment f;
  f.bits = ptx::type_bytes(type) * 8;
  const Tiles tiles = tiles_of(geometry);
  const uint32_t elements = f.bits == 16 ? 2 : 1;
  for (uint32_t tile = 0; tile < tiles.tall * tiles.wide; ++tile)
    for (uint32_t r = 0; r < tiles.rows / 4 / elements; ++r) {
      Cells cells;
      for (uint32_t e = 0; e < elements; ++e) {
        Coordinate tall = isa::sum_row(r * elements + e), wide = isa::sum_column(r * elements + e);
        if (tiles.tall > 1) tall.c += 16 * tile;
        if (tiles.wide > 1) wide.c += 8 * tile;
        cells.push_back(is_turned(geometry) ? Cell{wide, tall} : Cell{tall, wide});
      }
      f.cells.push_back(cells);
    }
  return f;
}

// Registers of a factor in PTX: those of halves hold everything twice (or four times).
size_t factor_registers(const Fragment& f, Type type) {
  return type == Type::f16 ? 8 : f.cells.size();
}

// The elements of a register follow one another in memory.
bool contiguous(const Cells& cells, uint8_t layout) {
  for (size_t i = 1; i < cells.size(); ++i) {
    const Cell &a = cells[i - 1], &b = cells[i];
    const bool next = layout == isa::kRowMajor ? a.row.c == b.row.c && a.column.c + 1 == b.column.c
                                               : a.column.c == b.column.c && a.row.c + 1 == b.row.c;
    if (!next) return false;
  }
  return true;
}

// How many registers, from number `r` on, one access moves: 2, 1, or 0 where the elements of the
// register are no neighbours in memory.
uint8_t registers_together(const Fragment& fragment, size_t r, uint8_t layout) {
  Cells cells = fragment.cells[r];
  if (!contiguous(cells, layout)) return 0;
  if (r % 2 != 0 || r + 1 == fragment.cells.size() || fragment.bits == 64) return 1;
  cells.insert(cells.end(), fragment.cells[r + 1].begin(), fragment.cells[r + 1].end());
  return contiguous(cells, layout) ? 2 : 1;
}

}  // namespace

Result<std::vector<Source>> Lowering::fragment(Instance& f, const ptx::Instruction& in,
                                               size_t operand, size_t count, uint8_t bytes) {
  const std::vector<Operand> parts = elements_of(in.operands[operand]);
  if (parts.size() != count)
    return error_at(in, fmt::format("'{}' takes {} register{} as operand {}, not {}", in.spelling(),
                                    count, count == 1 ? "" : "s", operand + 1, parts.size()));
  std::vector<Source> registers;
  for (const Operand& o : parts) {
    if (o.kind != OperandKind::reg && o.kind != OperandKind::integer &&
        o.kind != OperandKind::float32 && o.kind != OperandKind::float64)
      return error_at(
          in, fmt::format("'{}' takes registers as operand {}", in.spelling(), operand + 1));
    Result<Source> s = source(f, in, o, bytes, bytes == 8 ? Type::f64 : Type::b32);
    if (!s.ok()) return s.error();
    registers.push_back(*s);
  }
  return registers;
}

Result<std::vector<Lowering::Destination>> Lowering::fragment_out(Instance& f,
                                                                  const ptx::Instruction& in,
                                                                  size_t operand, size_t count,
                                                                  uint8_t bytes) {
  const std::vector<Operand> parts = elements_of(in.operands[operand]);
  if (parts.size() != count)
    return error_at(in, fmt::format("'{}' takes {} register{} as operand {}, not {}", in.spelling(),
                                    count, count == 1 ? "" : "s", operand + 1, parts.size()));
  std::vector<Destination> outs;
  for (const Operand& o : parts) {
    Result<Destination> d = destination(f, in, o, bytes, false);
    if (!d.ok()) return d.error();
    outs.push_back(*d);
  }
  return outs;
}

void Lowering::matrix_op(Builtin which, isa::Mods mods, Type type, Type type2,
                         const std::vector<Source>& sources,
                         const std::vector<uint32_t>& destinations) {
  Ir& ir = append(IrKind::machine);
  ir.builtin = int32_t(which);
  ir.mods = mods;
  ir.type = type;
  ir.type2 = type2;
  for (const Source& s : sources) ir.s[ir.sources++] = s;
  ir.s[ir.sources++] = constant(kAllLanes);
  for (const uint32_t d : destinations) ir.d[ir.destinations++] = d;
}

// A predicate: the lane's number is less than `lanes`.
uint32_t Lowering::lane_below(const ptx::Instruction& in, uint32_t lanes) {
  uint8_t bytes = 4;
  const Result<Source> lane = special(in, "%laneid", bytes);  // which always exists
  return apply("setp.lt.u32", {*lane, constant(lanes)}).reg;
}

// ldmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16 r, [p]: the lanes 8 i to 8 i + 7 give the
// addresses of the rows of matrix i.
Status Lowering::load_matrices(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const uint8_t count = match.mods[Field::vec];
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes registers and an address", in.spelling()));
  Result<Place> from = place(f, in, match, in.operands[1]);
  if (!from.ok()) return from.error();
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, count, 4);
  if (!outs.ok()) return outs.error();
  auto make = [&]() -> Status {
    std::vector<Source> rows;
    const uint32_t guard = count < 4 ? lane_below(in, 8u * count) : kNoReg;
    for (int w = 0; w < 4; ++w) {
      const uint32_t r = d_.new_register(4);
      if (guard != kNoReg) apply("mov.b32", {constant(0)}, r);
      rows.push_back(reg(r));
    }
    Ir& load = append(IrKind::load);
    load.space = from->space;
    load.element = Element::b32;
    load.elements = 4;
    load.offset = from->offset;
    load.s[load.sources++] = from->address;
    for (const Source& r : rows) load.d[load.destinations++] = r.reg;
    load.guard = guard;
    std::vector<uint32_t> to;
    for (const Destination& d : *outs) to.push_back(d.reg);
    matrix_op(Builtin::matrix_move,
              match.mods.with(Field::operation, kRowsToFragment).with(Field::space, 0), Type::b32,
              Type::none, rows, to);
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& d : *outs) finish(d);
  return s;
}

Status Lowering::store_matrices(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const uint8_t count = match.mods[Field::vec];
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes an address and registers", in.spelling()));
  Result<Place> to = place(f, in, match, in.operands[0]);
  if (!to.ok()) return to.error();
  Result<std::vector<Source>> registers = fragment(f, in, 1, count, 4);
  if (!registers.ok()) return registers.error();
  auto make = [&]() -> Status {
    std::vector<uint32_t> rows;
    for (int w = 0; w < 4; ++w) rows.push_back(d_.new_register(4));
    matrix_op(Builtin::matrix_move,
              match.mods.with(Field::operation, kFragmentToRows).with(Field::space, 0), Type::b32,
              Type::none, *registers, rows);
    const uint32_t guard = count < 4 ? lane_below(in, 8u * count) : kNoReg;
    Ir& store = append(IrKind::store);
    store.space = to->space;
    store.element = Element::b32;
    store.elements = 4;
    store.offset = to->offset;
    store.s[store.sources++] = to->address;
    for (const uint32_t r : rows) store.s[store.sources++] = reg(r);
    store.guard = guard;
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

Status Lowering::move_matrix(Instance& f, const ptx::Instruction& in) {
  if (in.operands.size() != 2)
    return error_at(in, fmt::format("'{}' takes two registers", in.spelling()));
  Result<std::vector<Source>> from = fragment(f, in, 1, 1, 4);
  if (!from.ok()) return from.error();
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, 1, 4);
  if (!outs.ok()) return outs.error();
  auto make = [&]() -> Status {
    matrix_op(Builtin::matrix_move, isa::Mods{}.with(Field::operation, kTransposeFragment),
              Type::b32, Type::none, *from, {outs->front().reg});
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  finish(outs->front());
  return s;
}

// mma.sync: one product, of f64 a chain of them over four k each.
Status Lowering::multiply(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                          Machine machine) {
  if (in.operands.size() != 4)
    return error_at(in, fmt::format("'{}' takes D, A, B and C", in.spelling()));
  isa::MatrixElement element = isa::kElementF16;
  switch (machine) {
    case Machine::mma_bfloat: element = isa::kElementBf16; break;
    case Machine::mma_tf32: element = isa::kElementTf32; break;
    case Machine::mma_float8: element = isa::kElementFloat8; break;
    case Machine::mma_double: element = isa::kElementF64; break;
    case Machine::mma_byte: element = isa::kElementByte; break;
    case Machine::mma_nibble: element = isa::kElementNibble; break;
    case Machine::mma_bit: element = isa::kElementBit; break;
    default: break;
  }
  if (match.mods[Field::rnd] != isa::kRndNone)
    return error_at(in, fmt::format("'{}' rounds to nearest only", in.spelling()));
  const isa::GeometrySize size = isa::kGeometrySizes[match.mods[Field::geometry]];
  const bool wide = element == isa::kElementF64;
  const uint8_t bytes = wide ? 8 : 4;
  const uint32_t groups = size.m / 8u,
                 words = wide ? size.k / 4u : size.k * isa::element_bits(element) / 128u;
  auto sums = [&](Type type) { return size_t(groups) * (type == Type::f16 ? 1 : 2); };
  Result<std::vector<Source>> a = fragment(f, in, 1, groups * words, bytes);
  if (!a.ok()) return a.error();
  Result<std::vector<Source>> b = fragment(f, in, 2, words, bytes);
  if (!b.ok()) return b.error();
  Result<std::vector<Source>> c = fragment(f, in, 3, sums(match.type2), bytes);
  if (!c.ok()) return c.error();
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, sums(match.type), bytes);
  if (!outs.ok()) return outs.error();
  auto make = [&]() -> Status {
    const isa::Mods mods = match.mods.with(Field::layout, element);
    std::vector<uint32_t> to;
    for (const Destination& d : *outs) to.push_back(d.reg);
    if (!wide) {
      std::vector<Source> sources = *a;
      sources.insert(sources.end(), b->begin(), b->end());
      sources.insert(sources.end(), c->begin(), c->end());
      matrix_op(Builtin::matrix_multiply, mods, match.type, match.type2, sources, to);
      return Unit{};
    }
    std::vector<Source> sum = *c;
    for (uint32_t step = 0; step < words; ++step) {
      std::vector<Source> sources(a->begin() + step * groups, a->begin() + (step + 1) * groups);
      sources.push_back((*b)[step]);
      sources.insert(sources.end(), sum.begin(), sum.end());
      std::vector<uint32_t> part = to;
      if (step + 1 < words)
        for (uint32_t& r : part) r = d_.new_register(8);
      matrix_op(Builtin::matrix_multiply,
                mods.with(Field::geometry, size.m == 8 ? isa::kM8N8K4 : isa::kM16N8K4), match.type,
                match.type2, sources, part);
      for (size_t i = 0; i < part.size(); ++i) sum[i] = reg(part[i]);
    }
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& d : *outs) finish(d);
  return s;
}

// Where the matrix of a wmma.load or wmma.store lies: the address of each lane's element (0, 0) and
// how far apart lines (rows, or columns) are, in elements.
struct Lowering::MatrixPlace {
  Place place;
  Source stride;
  uint8_t bytes = 8;  // of an address
};

Result<Lowering::MatrixPlace> Lowering::matrix_place(Instance& f, const ptx::Instruction& in,
                                                     const isa::Match& match, size_t address,
                                                     size_t stride) {
  MatrixPlace m;
  Result<Place> p = place(f, in, match, in.operands[address]);
  if (!p.ok()) return p.error();
  if (p->kernel_parameter) return error_at(in, "a matrix cannot lie in kernel parameters");
  m.place = *p;
  m.bytes = p->space == AccessSpace::shared ? 4 : 8;
  if (stride < in.operands.size()) {
    Result<Source> s = source(f, in, in.operands[stride], 4, Type::u32);
    if (!s.ok()) return s.error();
    m.stride = *s;
  }
  return m;
}

// The accesses of one wmma.load or wmma.store: the lane's address is computed once, and once for
// each distance of lines.
struct Lowering::MatrixLines {
  MatrixLines(Lowering& l, const ptx::Instruction& in, const MatrixPlace& place, const Cell& first,
              uint32_t bits, uint8_t layout)
      : l_(l), place_(place), bytes_(bits / 8), layout_(layout) {
    // Loads may write the register that holds the stride.
    if (!place_.stride.constant) place_.stride = l.apply("mov.b32", {place_.stride});
    uint8_t size = 4;
    const Source lane = *l.special(in, "%laneid", size);  // which always exists
    const Source g = l.apply("shr.u32", {lane, constant(2)}),
                 t = l.apply("and.b32", {lane, constant(3)});
    // One of the two coordinates goes with g, the other with t, in every register alike.
    const Coordinate &line = major(first), &along = minor(first);
    const Source lines = line.g != 0 ? g : l.apply("mul.lo.u32", {t, constant(line.t)}),
                 within = along.g != 0 ? g : l.apply("mul.lo.u32", {t, constant(along.t)});
    base_ = plus(place_.place.address, product(lines, place_.stride));
    base_ = plus(base_, product(within, constant(1)));
  }

  void load(const Cell& cell, Element element, uint8_t elements, const uint32_t* registers) {
    Ir& ir = access(IrKind::load, cell, element, elements);
    for (uint8_t e = 0; e < elements; ++e) ir.d[ir.destinations++] = registers[e];
  }
  void store(const Cell& cell, Element element, uint8_t elements, const Source* values) {
    Ir& ir = access(IrKind::store, cell, element, elements);
    for (uint8_t e = 0; e < elements; ++e) ir.s[ir.sources++] = values[e];
  }

 private:
  const Coordinate& major(const Cell& c) const {
    return layout_ == isa::kRowMajor ? c.row : c.column;
  }
  const Coordinate& minor(const Cell& c) const {
    return layout_ == isa::kRowMajor ? c.column : c.row;
  }

  // lines * stride elements, in bytes, as wide as an address.
  Source product(Source lines, Source stride) {
    if (place_.bytes == 4)
      return l_.apply("mul.lo.u32", {l_.apply("mul.lo.u32", {lines, stride}), constant(bytes_)});
    return l_.apply("mul.lo.u64", {l_.apply("mul.wide.u32", {lines, stride}), constant(bytes_)});
  }
  Source plus(Source address, Source more) {
    return l_.apply(place_.bytes == 4 ? "add.u32" : "add.u64", {address, more});
  }
  Ir& access(IrKind kind, const Cell& cell, Element element, uint8_t elements) {
    const uint32_t line = major(cell).c;
    auto [at, fresh] = at_line_.try_emplace(line, base_);
    if (fresh && line != 0) at->second = plus(base_, product(constant(line), place_.stride));
    const Source address = at->second;
    Ir& ir = l_.append(kind);
    ir.space = place_.place.space;
    ir.element = element;
    ir.elements = elements;
    ir.offset = place_.place.offset + int64_t(minor(cell).c) * bytes_;
    ir.s[ir.sources++] = address;
    return ir;
  }

  Lowering& l_;
  MatrixPlace place_;
  uint32_t bytes_;
  uint8_t layout_;
  Source base_;
  std::unordered_map<uint32_t, Source> at_line_;
};

namespace {

// The number of columns (row-major) or rows of the whole matrix: the stride that is left out.
uint32_t whole_line(const isa::GeometrySize& size, char operand, uint8_t layout) {
  const uint32_t rows = operand == 'b' ? size.k : size.m,
                 columns = operand == 'a' ? size.k : size.n;
  return layout == isa::kRowMajor ? columns : rows;
}

}  // namespace

// Each register of the fragment by a load of 32 (f64: 64) bits where its elements are neighbours in
// memory, two registers by one where they are; else element by element.
Status Lowering::wmma_load(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                           Machine machine) {
  const uint8_t geometry = match.mods[Field::geometry], layout = match.mods[Field::layout];
  const bool sum = machine == Machine::wmma_load_c;
  if (in.operands.size() != 2 && in.operands.size() != 3)
    return error_at(in,
                    fmt::format("'{}' takes registers, an address and a stride", in.spelling()));
  if (sum ? !sum_fits(match.type, geometry) : !fits(match.type, geometry))
    return error_at(in, fmt::format("'{}': this shape does not have this type", in.spelling()));
  const Fragment fragment =
      sum ? sum_fragment(geometry, match.type)
          : factor_fragment(geometry, match.type, machine == Machine::wmma_load_a);
  Result<MatrixPlace> m = matrix_place(f, in, match, 1, 2);
  if (!m.ok()) return m.error();
  if (!m->stride.constant && m->stride.reg == kNoReg)
    m->stride = constant(whole_line(isa::kGeometrySizes[geometry],
                                    sum                               ? 'c'
                                    : machine == Machine::wmma_load_a ? 'a'
                                                                      : 'b',
                                    layout));
  const uint8_t bytes = fragment.bits == 64 ? 8 : 4;
  const size_t count = sum ? fragment.cells.size() : factor_registers(fragment, match.type);
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, count, bytes);
  if (!outs.ok()) return outs.error();
  auto make = [&]() -> Status {
    MatrixLines lines(*this, in, *m, fragment.cells[0][0], fragment.bits, layout);
    for (size_t r = 0; r < fragment.cells.size(); ++r) {
      const Cells& cells = fragment.cells[r];
      if (const uint8_t joined = registers_together(fragment, r, layout); joined != 0) {
        uint32_t registers[2] = {(*outs)[r].reg, joined == 2 ? (*outs)[r + 1].reg : kNoReg};
        lines.load(cells.front(), bytes == 8 ? Element::b64 : Element::b32, joined, registers);
        r += joined - 1u;
        continue;
      }
      uint32_t value = kNoReg;
      for (size_t e = 0; e < cells.size(); ++e) {
        uint32_t part = d_.new_register(2);
        lines.load(cells[e], fragment.bits == 8 ? Element::u8 : Element::b16, 1, &part);
        Source word = apply("cvt.u32.u16", {reg(part)});
        if (e != 0) word = apply("shl.b32", {word, constant(e * fragment.bits)});
        value = e == 0 ? word.reg : apply("or.b32", {reg(value), word}).reg;
      }
      apply("mov.b32", {reg(value)}, (*outs)[r].reg);
    }
    for (size_t r = fragment.cells.size(); r < count; ++r)
      apply("mov.b32", {reg((*outs)[r % fragment.cells.size()].reg)}, (*outs)[r].reg);
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& d : *outs) finish(d);
  return s;
}

Status Lowering::wmma_store(Instance& f, const ptx::Instruction& in, const isa::Match& match) {
  const uint8_t geometry = match.mods[Field::geometry], layout = match.mods[Field::layout];
  if (in.operands.size() != 2 && in.operands.size() != 3)
    return error_at(in,
                    fmt::format("'{}' takes an address, registers and a stride", in.spelling()));
  if (!sum_fits(match.type, geometry))
    return error_at(in, fmt::format("'{}': this shape does not have this type", in.spelling()));
  const Fragment fragment = sum_fragment(geometry, match.type);
  Result<MatrixPlace> m = matrix_place(f, in, match, 0, 2);
  if (!m.ok()) return m.error();
  if (!m->stride.constant && m->stride.reg == kNoReg)
    m->stride = constant(whole_line(isa::kGeometrySizes[geometry], 'c', layout));
  const uint8_t bytes = fragment.bits == 64 ? 8 : 4;
  Result<std::vector<Source>> values = this->fragment(f, in, 1, fragment.cells.size(), bytes);
  if (!values.ok()) return values.error();
  auto make = [&]() -> Status {
    MatrixLines lines(*this, in, *m, fragment.cells[0][0], fragment.bits, layout);
    for (size_t r = 0; r < fragment.cells.size(); ++r) {
      const Cells& cells = fragment.cells[r];
      if (const uint8_t joined = registers_together(fragment, r, layout); joined != 0) {
        lines.store(cells.front(), bytes == 8 ? Element::b64 : Element::b32, joined, &(*values)[r]);
        r += joined - 1u;
        continue;
      }
      for (size_t e = 0; e < cells.size(); ++e) {
        Source part = (*values)[r];
        if (e != 0) part = apply("shr.u32", {part, constant(e * fragment.bits)});
        part = apply("cvt.u16.u32", {part});
        lines.store(cells[e], Element::b16, 1, &part);
      }
    }
    return Unit{};
  };
  return guard_ != kNoReg ? guarded(in, make) : make();
}

Status Lowering::wmma_multiply(Instance& f, const ptx::Instruction& in, const isa::Match& match,
                               Machine machine) {
  const uint8_t geometry = match.mods[Field::geometry];
  if (in.operands.size() != 4)
    return error_at(in, fmt::format("'{}' takes D, A, B and C", in.spelling()));
  if (match.mods[Field::rnd] != isa::kRndNone)
    return error_at(in, fmt::format("'{}' rounds to nearest only", in.spelling()));
  if (match.mods[Field::type_a] != match.mods[Field::type_b])
    return error_at(in, fmt::format("'{}' takes factors of one type", in.spelling()));
  const Type factor = machine == Machine::wmma_half     ? Type::f16
                      : machine == Machine::wmma_bfloat ? Type::bf16
                      : machine == Machine::wmma_tf32   ? Type::tf32
                      : machine == Machine::wmma_double ? Type::f64
                                                        : Type::u8;
  const uint8_t bytes = factor == Type::f64 ? 8 : 4;
  const Fragment fa = factor_fragment(geometry, factor, true),
                 fb = factor_fragment(geometry, factor, false);
  Result<std::vector<Source>> a = fragment(f, in, 1, factor_registers(fa, factor), bytes);
  if (!a.ok()) return a.error();
  Result<std::vector<Source>> b = fragment(f, in, 2, factor_registers(fb, factor), bytes);
  if (!b.ok()) return b.error();
  const size_t sums_c = sum_fragment(geometry, match.type2).cells.size(),
               sums_d = sum_fragment(geometry, match.type).cells.size();
  Result<std::vector<Source>> c = fragment(f, in, 3, sums_c, bytes);
  if (!c.ok()) return c.error();
  Result<std::vector<Destination>> outs = fragment_out(f, in, 0, sums_d, bytes);
  if (!outs.ok()) return outs.error();
  const Tiles tiles = tiles_of(geometry);
  const uint32_t count = tiles.tall * tiles.wide;
  isa::Mods mods = match.mods.with(Field::layout, element_of_type(factor));
  const uint32_t k = isa::kGeometrySizes[geometry].k;
  mods = mods.with(Field::geometry, k == 4   ? isa::kM8N8K4
                                    : k == 8 ? isa::kM16N8K8
                                             : isa::kM16N8K16);
  std::vector<Source> tall = *a, wide = *b;
  size_t tall_size = fa.cells.size() / tiles.tall, wide_size = fb.cells.size() / tiles.wide;
  if (is_turned(geometry)) {
    std::swap(tall, wide);
    tall_size = fb.cells.size() / tiles.tall, wide_size = fa.cells.size() / tiles.wide;
  }
  auto make = [&]() -> Status {
    std::vector<uint32_t> results;
    for (uint32_t tile = 0; tile < count; ++tile) {
      const size_t from_tall = tiles.tall > 1 ? tile * tall_size : 0,
                   from_wide = tiles.wide > 1 ? tile * wide_size : 0;
      std::vector<Source> sources(tall.begin() + long(from_tall),
                                  tall.begin() + long(from_tall + tall_size));
      sources.insert(sources.end(), wide.begin() + long(from_wide),
                     wide.begin() + long(from_wide + wide_size));
      sources.insert(sources.end(), c->begin() + long(tile * (sums_c / count)),
                     c->begin() + long((tile + 1) * (sums_c / count)));
      std::vector<uint32_t> to;
      for (size_t i = 0; i < sums_d / count; ++i) to.push_back(d_.new_register(bytes));
      matrix_op(Builtin::matrix_multiply, mods, match.type, match.type2, sources, to);
      results.insert(results.end(), to.begin(), to.end());
    }
    // D may be a factor of the second tile: written when all is computed.
    for (size_t i = 0; i < results.size(); ++i)
      lane_op(isa::kRowMov, bits_type(bytes), Type::none, {reg(results[i])}, {}, (*outs)[i].reg);
    return Unit{};
  };
  Status s = guard_ != kNoReg ? guarded(in, make) : make();
  for (const Destination& d : *outs) finish(d);
  return s;
}

}  // namespace tw::emu
