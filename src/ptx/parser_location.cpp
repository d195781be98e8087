// Source locations: .file, .loc, and the names of inlined functions, which stand in .debug_str.
//
// A `.loc` says where it was inlined as file, line and column; the row meant is the latest one of
// that place. Rows no instruction uses are dropped at the end, and equal rows are one.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/parser_state.h"

namespace tw::ptx {

size_t RawLocationHash::operator()(const RawLocation& r) const {
  uint64_t h = r.line;
  for (uint64_t part : {uint64_t{r.file}, uint64_t{r.column}, uint64_t{r.inlined_at},
                        uint64_t{r.function_label}, r.function_offset}) {
    h = (h ^ part) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

// .file N "path" [, time, size]
bool Parser::file_directive() {
  advance();
  uint64_t index = 0;
  if (!expect_unsigned("a file number", kMaxFileIndex, index)) return false;
  if (token_.kind != TokenKind::string) return unexpected("the path of the file in quotes");
  if (module_.files.size() <= index) module_.files.resize(index + 1);
  module_.files[index] = token_.text;
  advance();
  while (accept(',')) {
    uint64_t ignored = 0;
    if (!expect_unsigned("a time or a size", ~0ull, ignored)) return false;
  }
  accept(';');
  return true;
}

// .loc file line column [, function_name label [+ offset]] [, inlined_at file line column]
bool Parser::loc_directive() {
  advance();
  RawLocation row;
  uint64_t file = 0;
  if (!expect_unsigned("a file number", kMaxFileIndex, file) ||
      !expect_unsigned("a line", row.line) || !expect_unsigned("a column", row.column))
    return false;
  row.file = static_cast<uint32_t>(file);
  std::vector<RawLocation>& rows =
      raw_locations_[static_cast<size_t>(function_ - module_.functions.data())];
  auto intern = [&](const RawLocation& r) {
    auto [entry, fresh] = location_index_.try_emplace(r, static_cast<uint32_t>(rows.size()));
    if (fresh) rows.push_back(r);
    latest_location_[RawLocation{r.file, r.line, r.column, kNone, kNone, 0, 0}] = entry->second;
    return entry->second;
  };
  while (accept(',')) {
    if (token_.kind != TokenKind::identifier) return unexpected("function_name or inlined_at");
    if (token_.text == "function_name") {
      advance();
      std::string_view label;
      if (!expect_name("the label of a function name", label)) return false;
      row.function_label = id(label);
      if (accept('+') && !expect_unsigned("an offset", ~0ull, row.function_offset)) return false;
    } else if (token_.text == "inlined_at") {
      advance();
      RawLocation site;
      if (!expect_unsigned("a file number", kMaxFileIndex, file) ||
          !expect_unsigned("a line", site.line) || !expect_unsigned("a column", site.column))
        return false;
      site.file = static_cast<uint32_t>(file);
      const auto latest = latest_location_.find(site);
      row.inlined_at = latest != latest_location_.end() ? latest->second : intern(site);
      row.depth = rows[row.inlined_at].depth + 1;
      if (row.depth > kMaxInlineDepth) {
        row.inlined_at = kNone;
        row.depth = 0;
      }
    } else {
      return unexpected("function_name or inlined_at");
    }
  }
  location_ = intern(row);
  accept(';');
  return true;
}

// Behind `.section .debug_str {`: labels and .b8 rows.
bool Parser::debug_strings() {
  while (!accept('}')) {
    if (token_.kind == TokenKind::identifier) {
      debug_labels_.emplace(id(token_.text), debug_str_.size());
      advance();
      if (!expect(':', "after a label")) return false;
    } else if (accept_directive("b8")) {
      do {
        uint64_t byte = 0;
        if (!expect_unsigned("a byte", 255, byte)) return false;
        debug_str_.push_back(static_cast<char>(byte));
      } while (accept(','));
      accept(';');
    } else {
      return unexpected("a label, .b8 or '}'");
    }
  }
  return true;
}

bool Parser::finish_locations() {
  // The text of a function_name; a label that .debug_str lacks stands for itself.
  auto spelled = [&](const RawLocation& r) -> std::string {
    if (r.function_label == kNone) return {};
    const auto label = debug_labels_.find(r.function_label);
    if (label == debug_labels_.end()) return std::string(names_.text(r.function_label));
    if (r.function_offset >= debug_str_.size() - label->second) return {};
    const size_t begin = label->second + r.function_offset;
    return debug_str_.substr(begin, debug_str_.find('\0', begin) - begin);
  };
  uint32_t files = 0;
  uint64_t name_bytes = 0;
  for (size_t i = 0; i < module_.functions.size(); ++i) {
    Function& f = module_.functions[i];
    const std::vector<RawLocation>& rows = raw_locations_[i];
    std::vector<uint32_t> final_row(rows.size(), kNone);
    std::unordered_map<RawLocation, uint32_t, RawLocationHash> index;
    std::vector<uint32_t> chain;
    for (Instruction& ins : f.instructions) {
      if (ins.location == kNone) continue;
      // Call sites before what is inlined at them.
      for (uint32_t row = ins.location; row != kNone && final_row[row] == kNone;
           row = rows[row].inlined_at)
        chain.push_back(row);
      for (; !chain.empty(); chain.pop_back()) {
        const RawLocation& raw = rows[chain.back()];
        SourceLocation location{raw.file, raw.line, raw.column,
                                raw.inlined_at == kNone ? kNone : final_row[raw.inlined_at],
                                spelled(raw)};
        RawLocation key{raw.file, raw.line, raw.column, location.inlined_at, kNone, 0, 0};
        name_bytes += location.inlined_function.size();
        if (name_bytes > kMaxInlinedNameBytes)
          return fail(
              0, 0,
              "names of inlined functions beyond the limit of 1 GiB: compile without -lineinfo");
        if (!location.inlined_function.empty()) {
          key.function_label = names_.id_of_made(location.inlined_function);
          if (key.function_label == facts_.size()) facts_.emplace_back();
        }
        const auto [entry, fresh] =
            index.try_emplace(key, static_cast<uint32_t>(f.locations.size()));
        if (fresh) f.locations.push_back(std::move(location));
        final_row[chain.back()] = entry->second;
        files = std::max(files, raw.file + 1);
      }
      ins.location = final_row[ins.location];
    }
  }
  // Every SourceLocation::file is an index into files, whether a .file names it or not.
  if (module_.files.size() < files) module_.files.resize(files);
  return true;
}

}  // namespace tw::ptx
