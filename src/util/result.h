// Errors are values with a place. A function that can fail on user input returns Result<T>; no
// library prints or aborts. `Error::file`/`line` name the *user's* file (PTX text, device file,
// binary), not ours; 0 means "not known".
//
// Tested by tests/unit/util/result_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tw {

struct Error {
  std::string message;  // one sentence: what is wrong and what to do
  std::string file{};   // the user's file, or empty
  uint32_t line = 0;    // 1-based, or 0
  uint32_t column = 0;  // 1-based, or 0

  // "file:line:column: message", leaving out what is not known.
  std::string to_string() const;
};

struct Unit {};

// A value or an Error. `[[nodiscard]]`: an ignored failure is a defect.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Unit>;

}  // namespace tw
