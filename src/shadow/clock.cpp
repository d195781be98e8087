#include "shadow/clock.h"

namespace tw::shadow {
namespace {

constexpr uint32_t kBits = 5;  // of a CTA's number, for each height of the tree
constexpr uint32_t kParts = 1u << kBits;

uint32_t part_of(uint32_t cta, uint32_t height) { return (cta >> (height - 1) * kBits) % kParts; }

bool reaches(uint32_t height, uint32_t cta) { return uint64_t{cta} >> height * kBits == 0; }

}  // namespace

bool add_known(std::vector<Known>& list, Known k) {
  for (const Known& old : list)
    if (old.warp == k.warp && old.time >= k.time) k.lanes &= ~old.lanes;
  if (k.lanes == 0) return false;
  Known* same_time = nullptr;
  size_t kept = 0;
  for (Known old : list) {
    if (old.warp == k.warp && old.time < k.time) old.lanes &= ~k.lanes;
    if (old.lanes == 0) continue;
    list[kept] = old;
    if (old.warp == k.warp && old.time == k.time) same_time = &list[kept];
    ++kept;
  }
  if (same_time != nullptr) same_time->lanes |= k.lanes;
  list.resize(kept);
  if (same_time == nullptr) list.push_back(k);
  return true;
}

bool knows(const std::vector<Known>& list, uint32_t warp, uint32_t lane, uint32_t time) {
  for (const Known& k : list)
    if (k.warp == warp && ((k.lanes >> lane) & 1) && time < k.time) return true;
  return false;
}

void Clock::destroy(Node* node) {
  if (node->height == 0)
    delete static_cast<Leaf*>(node);
  else
    delete static_cast<Inner*>(node);
}

Clock::Ref Clock::above(Ref child, uint32_t part) {
  auto* node = new Inner;
  node->height = child.get()->height + 1;
  node->bits = 1u << part;
  node->children.push_back(std::move(child));
  return Ref(node);
}

Clock::Clock(uint32_t cta, uint32_t epoch, std::vector<Known> lanes) {
  auto* leaf = new Leaf;
  leaf->epoch = epoch;
  leaf->lanes = std::move(lanes);
  root_ = Ref(leaf);
  do {
    const uint32_t part = part_of(cta, root_.get()->height + 1);
    root_ = above(std::move(root_), part);
  } while (!reaches(root_.get()->height, cta));
}

bool Clock::knows(const Moment& m) const {
  const Node* node = root_.get();
  if (node == nullptr || !reaches(node->height, m.cta)) return false;
  while (node->height != 0) {
    const auto* in = static_cast<const Inner*>(node);
    const uint32_t bit = 1u << part_of(m.cta, in->height);
    if ((in->bits & bit) == 0) return false;
    node = in->children[uint32_t(__builtin_popcount(in->bits & (bit - 1)))].get();
  }
  const auto* of = static_cast<const Leaf*>(node);
  return m.epoch < of->epoch || shadow::knows(of->lanes, m.thread / 32, m.thread % 32, m.time);
}

Clock::Ref Clock::join_leaves(const Ref& a, const Ref& b) {
  if (leaf(a).epoch != leaf(b).epoch) return leaf(a).epoch > leaf(b).epoch ? a : b;
  auto with = [](const Leaf& to, const Leaf& from) -> Leaf* {  // nullptr: `to` knows it all
    std::vector<Known> lanes = to.lanes;
    bool more = false;
    for (const Known& k : from.lanes) more |= add_known(lanes, k);
    if (!more) return nullptr;
    auto* joined = new Leaf;
    joined->epoch = to.epoch;
    joined->lanes = std::move(lanes);
    return joined;
  };
  Ref joined(with(leaf(a), leaf(b)));
  if (!joined) return a;
  return Ref(with(leaf(b), leaf(a))) ? joined : b;
}

Clock::Ref Clock::join(const Ref& a, const Ref& b) {
  if (!b || a.get() == b.get()) return a;
  if (!a) return b;
  if (a.get()->height == 0) return join_leaves(a, b);
  const Inner &of_a = inner(a), &of_b = inner(b);
  const uint32_t bits = of_a.bits | of_b.bits;
  std::vector<Ref> children;
  children.reserve(uint32_t(__builtin_popcount(bits)));
  bool as_a = bits == of_a.bits, as_b = bits == of_b.bits;
  static const Ref none;
  for (uint32_t left = bits, at_a = 0, at_b = 0; left != 0; left &= left - 1) {
    const uint32_t bit = left & (0 - left);
    const Ref& child_a = of_a.bits & bit ? of_a.children[at_a++] : none;
    const Ref& child_b = of_b.bits & bit ? of_b.children[at_b++] : none;
    Ref joined = join(child_a, child_b);
    as_a = as_a && joined.get() == child_a.get();
    as_b = as_b && joined.get() == child_b.get();
    children.push_back(std::move(joined));
  }
  if (as_a) return a;
  if (as_b) return b;
  auto* node = new Inner;
  node->height = a.get()->height;
  node->bits = bits;
  node->children = std::move(children);
  return Ref(node);
}

void Clock::join(const Clock& other) {
  if (!other.root_ || same(other)) return;
  if (!root_ || (line_ != 0 && line_ == other.line_)) {
    if (!root_ || version_ < other.version_) *this = other;
    return;
  }
  Ref to = root_, from = other.root_;
  while (to.get()->height < from.get()->height) to = above(std::move(to), 0);
  while (from.get()->height < to.get()->height) from = above(std::move(from), 0);
  Ref both = join(to, from);
  if (both.get() == from.get()) {
    *this = other;
    root_ = both;
  } else if (both.get() != to.get()) {
    number(0, 0);
    root_ = both;
  }
}

}  // namespace tw::shadow
