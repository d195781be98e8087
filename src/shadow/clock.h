// What is known of the CTAs of a launch: a vector clock over CTAs, as a value.
//
// Problem: every release hands over all that its thread knows, and every acquire adds that to what
// another knows. Kept as chains (this thread has acquired that release, whose thread had acquired
// others), each question walks them, and kernels whose CTAs poll counters make thousands. Vector
// clocks answer at once, but as arrays they cost a launch's CTAs at every release and acquire.
//
// Choice: persistent trees of 32 CTAs a node. A copy is a counted pointer; joining two clocks looks
// only at what they do not share, and gives one of the two where it knows all that the other does.
// So clocks that have met once stay cheap to join: the flags of a chain of CTAs, or a counter at
// which all of them arrive, cost a path of the tree each. Where each of a line of clocks knows what
// those before it did (the versions of such a counter), their numbers say so without a look.
//
// Times of a warp never go back and tick through its epochs, so what is known of a CTA is its
// latest known epoch, before which all is known, and times of lanes in that epoch.
// Counts are not atomic: a clock and its copies belong to one thread of the host.
// Tested by tests/unit/shadow/order_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tw::shadow {

// When a thread did something.
struct Moment {
  uint32_t cta = 0;
  uint32_t thread = 0;
  uint32_t epoch = 0;
  uint32_t time = 0;  // its warp's clock
};

struct Known {
  uint32_t warp, lanes, time;
};  // what these lanes did before `time`

// Adds to a list in which each lane has one time; false if the list knew as much.
bool add_known(std::vector<Known>& list, Known k);
bool knows(const std::vector<Known>& list, uint32_t warp, uint32_t lane, uint32_t time);

class Clock {
 public:
  Clock() = default;
  // Of a CTA, what it did before `epoch`, and in it what `lanes` name.
  Clock(uint32_t cta, uint32_t epoch, std::vector<Known> lanes);

  bool empty() const { return !root_; }
  bool knows(const Moment& m) const;
  void join(const Clock& other);
  // Number `version` of a line of clocks, of which each knows all that those before it do. 0: none.
  void number(uint32_t line, uint32_t version) { line_ = line, version_ = version; }
  // The same object: knows the same, but not the other way round.
  bool same(const Clock& other) const { return root_.get() == other.root_.get(); }
  uintptr_t identity() const { return reinterpret_cast<uintptr_t>(root_.get()); }

 private:
  struct Node {
    uint32_t count = 0;   // of those that refer to it
    uint32_t height = 0;  // 0: a Leaf
  };
  class Ref {
   public:
    Ref() = default;
    explicit Ref(Node* node) : node_(node) {
      if (node_ != nullptr) ++node_->count;
    }
    Ref(const Ref& other) : Ref(other.node_) {}
    Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Ref() {
      if (node_ != nullptr && --node_->count == 0) destroy(node_);
    }
    Node* get() const { return node_; }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    Node* node_ = nullptr;
  };
  struct Leaf : Node {
    uint32_t epoch = 0;
    std::vector<Known> lanes;
  };
  struct Inner : Node {
    uint32_t bits = 0;  // which of its 32 parts have a child
    std::vector<Ref> children;
  };
  static const Leaf& leaf(const Ref& r) { return *static_cast<const Leaf*>(r.get()); }
  static const Inner& inner(const Ref& r) { return *static_cast<const Inner*>(r.get()); }
  static void destroy(Node* node);
  static Ref above(Ref child, uint32_t part);  // a node with this one child
  static Ref join(const Ref& a, const Ref& b);
  static Ref join_leaves(const Ref& a, const Ref& b);

  Ref root_;
  uint32_t line_ = 0, version_ = 0;
};

}  // namespace tw::shadow
