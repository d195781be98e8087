#include "util/result.h"

#include <fmt/format.h>

namespace tw {

std::string Error::to_string() const {
  std::string place = file;
  if (line != 0) place += fmt::format(":{}", line);
  if (line != 0 && column != 0) place += fmt::format(":{}", column);
  return place.empty() ? message : place + ": " + message;
}

}  // namespace tw
