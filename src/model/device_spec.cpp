// Reads device files with nlohmann's SAX parser and a counting iterator, because a message without
// a line is no use to the person who edits the file, and the DOM forgets lines. The shape is fixed
// (section, key, {"value", "source"}), so the reader refuses anything deeper or unknown: a mistyped
// key must not silently leave a limit at its default.
#include "model/device_spec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/embedded_devices.h"

namespace tw::model {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::string_view kBasePrefix = "compute-";

enum class Kind { kU32, kU64, kReal };

struct Field {
  const char* section;
  const char* key;
  Kind kind;
  void* (*slot)(DeviceSpec&);  // nullptr: kept among the sources only (measured_number)
  bool required;
};

// Upper bounds keep every product the model forms inside 64 bits.
constexpr double kMaxU32 = 2147483647.0;
constexpr double kMaxU64 = 1125899906842624.0;  // 2^50
constexpr double kMaxReal = 1e9;

template <auto Member> void* member(DeviceSpec& spec) { return &(spec.*Member); }
template <auto Member> void* measured(DeviceSpec& spec) { return &(spec.measured.*Member); }
template <int I> void* block_dim(DeviceSpec& spec) { return &spec.max_block_dim[I]; }
template <int I> void* grid_dim(DeviceSpec& spec) { return &spec.max_grid_dim[I]; }

using S = DeviceSpec;
using C = Ceilings;
constexpr Field kFields[] = {
    {"limits", "compute_major", Kind::kU32, member<&S::compute_major>, true},
    {"limits", "compute_minor", Kind::kU32, member<&S::compute_minor>, true},
    {"limits", "sm_count", Kind::kU32, member<&S::sm_count>, true},
    {"limits", "max_threads_per_block", Kind::kU32, member<&S::max_threads_per_block>, true},
    {"limits", "max_block_dim_x", Kind::kU32, block_dim<0>, true},
    {"limits", "max_block_dim_y", Kind::kU32, block_dim<1>, true},
    {"limits", "max_block_dim_z", Kind::kU32, block_dim<2>, true},
    {"limits", "max_grid_dim_x", Kind::kU32, grid_dim<0>, true},
    {"limits", "max_grid_dim_y", Kind::kU32, grid_dim<1>, true},
    {"limits", "max_grid_dim_z", Kind::kU32, grid_dim<2>, true},
    {"limits", "max_threads_per_sm", Kind::kU32, member<&S::max_threads_per_sm>, true},
    {"limits", "max_warps_per_sm", Kind::kU32, member<&S::max_warps_per_sm>, true},
    {"limits", "max_blocks_per_sm", Kind::kU32, member<&S::max_blocks_per_sm>, true},
    {"limits", "registers_per_sm", Kind::kU32, member<&S::registers_per_sm>, true},
    {"limits", "registers_per_block", Kind::kU32, member<&S::registers_per_block>, true},
    {"limits", "max_registers_per_thread", Kind::kU32, member<&S::max_registers_per_thread>, true},
    {"limits", "register_allocation_unit", Kind::kU32, member<&S::register_allocation_unit>, true},
    {"limits", "warp_allocation_granularity", Kind::kU32, member<&S::warp_allocation_granularity>,
     true},
    {"limits", "barriers_per_sm", Kind::kU32, member<&S::barriers_per_sm>, false},
    {"limits", "shared_per_sm", Kind::kU64, member<&S::shared_per_sm>, true},
    {"limits", "shared_per_block", Kind::kU64, member<&S::shared_per_block>, true},
    {"limits", "shared_per_block_optin", Kind::kU64, member<&S::shared_per_block_optin>, true},
    {"limits", "shared_reserved_per_block", Kind::kU64, member<&S::shared_reserved_per_block>,
     true},
    {"limits", "shared_allocation_unit", Kind::kU64, member<&S::shared_allocation_unit>, true},
    {"limits", "shared_banks", Kind::kU32, member<&S::shared_banks>, true},
    {"limits", "constant_bytes", Kind::kU64, member<&S::constant_bytes>, true},
    {"limits", "l1_bytes", Kind::kU64, member<&S::l1_bytes>, true},
    {"limits", "l2_bytes", Kind::kU64, member<&S::l2_bytes>, true},
    {"limits", "l2_line_bytes", Kind::kU64, member<&S::l2_line_bytes>, true},
    {"limits", "memory_bytes", Kind::kU64, member<&S::memory_bytes>, true},
    {"limits", "memory_bus_bits", Kind::kU32, member<&S::memory_bus_bits>, true},
    {"limits", "max_cluster_size", Kind::kU32, member<&S::max_cluster_size>, false},
    {"limits", "copy_engines", Kind::kU32, member<&S::copy_engines>, false},
    {"rates", "schedulers_per_sm", Kind::kU32, member<&S::schedulers_per_sm>, true},
    {"rates", "fp16_per_clock", Kind::kU32, member<&S::fp16_per_clock>, true},
    {"rates", "fp32_per_clock", Kind::kU32, member<&S::fp32_per_clock>, true},
    {"rates", "fp64_per_clock", Kind::kU32, member<&S::fp64_per_clock>, true},
    {"rates", "int32_per_clock", Kind::kU32, member<&S::int32_per_clock>, true},
    {"rates", "sfu_per_clock", Kind::kU32, member<&S::sfu_per_clock>, true},
    {"rates", "shared_bytes_per_clock", Kind::kU32, member<&S::shared_bytes_per_clock>, true},
    {"rates", "l1_bytes_per_clock", Kind::kU32, member<&S::l1_bytes_per_clock>, true},
    {"datasheet", "clock_mhz", Kind::kReal, member<&S::clock_mhz>, true},
    {"datasheet", "memory_clock_mhz", Kind::kReal, member<&S::memory_clock_mhz>, true},
    {"datasheet", "dram_gb_per_s", Kind::kReal, member<&S::dram_gb_per_s>, true},
    {"datasheet", "l2_gb_per_s", Kind::kReal, member<&S::l2_gb_per_s>, false},
    {"datasheet", "fp32_tflops", Kind::kReal, member<&S::fp32_tflops>, true},
    {"datasheet", "fp64_tflops", Kind::kReal, member<&S::fp64_tflops>, true},
    {"datasheet", "tf32_tflops", Kind::kReal, member<&S::tf32_tflops>, false},
    {"datasheet", "fp16_tflops", Kind::kReal, member<&S::fp16_tflops>, false},
    {"datasheet", "bf16_tflops", Kind::kReal, member<&S::bf16_tflops>, false},
    {"datasheet", "fp8_tflops", Kind::kReal, member<&S::fp8_tflops>, false},
    {"measured", "dram_gb_per_s", Kind::kReal, measured<&C::dram_gb_per_s>, false},
    {"measured", "l2_gb_per_s", Kind::kReal, measured<&C::l2_gb_per_s>, false},
    {"measured", "l1_gb_per_s", Kind::kReal, measured<&C::l1_gb_per_s>, false},
    {"measured", "shared_gb_per_s", Kind::kReal, measured<&C::shared_gb_per_s>, false},
    {"measured", "fp32_tflops", Kind::kReal, measured<&C::fp32_tflops>, false},
    {"measured", "fp64_tflops", Kind::kReal, measured<&C::fp64_tflops>, false},
    {"measured", "tf32_tflops", Kind::kReal, measured<&C::tf32_tflops>, false},
    {"measured", "fp16_tflops", Kind::kReal, measured<&C::fp16_tflops>, false},
    {"measured", "bf16_tflops", Kind::kReal, measured<&C::bf16_tflops>, false},
    {"measured", "fp8_tflops", Kind::kReal, measured<&C::fp8_tflops>, false},
    {"measured", "l2_write_glines_per_s", Kind::kReal, nullptr, false},
    {"measured", "launch_us", Kind::kReal, nullptr, false},
    {"measured", "shared_latency", Kind::kReal, nullptr, false},
    {"measured", "l1_latency", Kind::kReal, nullptr, false},
    {"measured", "l2_latency", Kind::kReal, nullptr, false},
    {"measured", "dram_latency", Kind::kReal, nullptr, false},
};

const Field* find_field(std::string_view section, std::string_view key) {
  for (const Field& field : kFields)
    if (section == field.section && key == field.key) return &field;
  return nullptr;
}

bool known_section(std::string_view section) {
  return std::any_of(std::begin(kFields), std::end(kFields),
                     [&](const Field& f) { return section == f.section; });
}

// What the text says, before it means anything.
struct DeviceFile {
  struct Head {
    std::string text;
    uint32_t line = 0;
  };
  std::optional<Head> id, name, extends;
  std::optional<double> schema;
  uint32_t schema_line = 0;
  struct Number {
    std::string section, key;
    double value = 0;
    bool has_value = false, whole = false, has_source = false;
    std::string source;
    uint32_t line = 0;
  };
  std::vector<Number> numbers;
};

// An input iterator over the text that tells the SAX handler how many lines went by.
class LineCountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCountingIterator(const char* at, uint32_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineCountingIterator& operator++() {
    if (*at_ == '\n' && line_ != nullptr) ++*line_;
    ++at_;
    return *this;
  }
  LineCountingIterator operator++(int) {
    LineCountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const LineCountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  uint32_t* line_;
};

class DeviceFileReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit DeviceFileReader(const uint32_t* line) : line_(line) {}

  DeviceFile file;
  std::string error;
  uint32_t error_line = 0;
  std::size_t error_byte = 0;  // set by a syntax error, whose place is a byte

  bool null() override { return refuse("null is not a value here"); }
  bool boolean(bool) override { return refuse("true and false are not values here"); }
  bool number_integer(number_integer_t v) override { return number(static_cast<double>(v), true); }
  bool number_unsigned(number_unsigned_t v) override {
    return number(static_cast<double>(v), true);
  }
  bool number_float(number_float_t v, const string_t&) override { return number(v, false); }
  bool binary(binary_t&) override { return refuse("binary data is not a value here"); }
  bool start_array(std::size_t) override { return refuse("a device file has no lists"); }
  bool end_array() override { return true; }

  bool string(string_t& text) override {
    if (depth_ == 1) {
      std::optional<DeviceFile::Head>* head = key_ == "id"        ? &file.id
                                              : key_ == "name"    ? &file.name
                                              : key_ == "extends" ? &file.extends
                                                                  : nullptr;
      if (head == nullptr)
        return refuse("\"" + key_ + "\" cannot be text; known text keys: id, name, extends");
      if (head->has_value()) return refuse("\"" + key_ + "\" is given twice");
      *head = DeviceFile::Head{text, key_line_};
      return true;
    }
    if (depth_ == 3 && key_ == "source") {
      if (file.numbers.back().has_source) return refuse("\"source\" is given twice");
      file.numbers.back().source = text;
      file.numbers.back().has_source = true;
      return true;
    }
    return refuse("text where a number was expected");
  }

  bool start_object(std::size_t) override {
    if (depth_ == 1) {
      if (!known_section(key_))
        return refuse("unknown section \"" + key_ +
                      "\"; known: limits, rates, datasheet, measured");
      section_ = key_;
    } else if (depth_ == 2) {
      for (const auto& number : file.numbers)
        if (number.section == section_ && number.key == key_)
          return refuse("\"" + key_ + "\" is given twice in \"" + section_ + "\"");
      DeviceFile::Number number;
      number.section = section_;
      number.key = key_;
      number.line = key_line_;
      file.numbers.push_back(std::move(number));
    } else if (depth_ >= 3) {
      return refuse(
          "an object is nested too deep; the shape is section, key, {\"value\", \"source\"}");
    }
    ++depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ == 2) {
      const auto& number = file.numbers.back();
      if (!number.has_value) return refuse("\"" + number.key + "\" has no \"value\"");
      if (!number.has_source || number.source.empty())
        return refuse("\"" + number.key +
                      "\" has no \"source\"; every number states where it comes from");
    }
    return true;
  }

  bool key(string_t& text) override {
    key_ = text;
    key_line_ = *line_;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& ex) override {
    std::string_view what = ex.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": keep what follows
    // the place.
    if (auto colon = what.find(": "); colon != std::string_view::npos)
      what.remove_prefix(colon + 2);
    error = "not valid JSON: " + std::string(what);
    error_line = *line_;
    error_byte = position;
    return false;
  }

 private:
  bool refuse(std::string message) {
    error = std::move(message);
    error_line = *line_;
    return false;
  }

  bool number(double value, bool whole) {
    if (depth_ == 1 && key_ == "schema") {
      file.schema = value;
      file.schema_line = key_line_;
      return true;
    }
    if (depth_ == 3 && key_ == "value") {
      auto& number = file.numbers.back();
      if (number.has_value) return refuse("\"value\" is given twice");
      number.value = value;
      number.whole = whole;
      number.has_value = true;
      return true;
    }
    if (depth_ == 2)
      return refuse("\"" + key_ +
                    "\" is a bare number; write {\"value\": ..., \"source\": \"...\"}");
    return refuse("a number where none was expected");
  }

  const uint32_t* line_;
  int depth_ = 0;
  std::string section_, key_;
  uint32_t key_line_ = 0;
};

Error at(const std::string& file, uint32_t line, std::string message) {
  return Error{std::move(message), file, line, 0};
}

Result<DeviceFile> read_text(std::string_view text, const std::string& file) {
  if (text.size() > kMaxFileBytes)
    return at(file, 0, "the file is larger than 1 MiB; this is not a device file");
  uint32_t line = 1;
  DeviceFileReader reader(&line);
  const LineCountingIterator first(text.data(), &line), last(text.data() + text.size(), nullptr);
  if (!nlohmann::json::sax_parse(first, last, &reader)) {
    if (reader.error_byte !=
        0) {  // the byte is exact where the lexer has looked one character ahead
      const std::string_view read = text.substr(0, std::min(reader.error_byte - 1, text.size()));
      reader.error_line = 1 + static_cast<uint32_t>(std::count(read.begin(), read.end(), '\n'));
    }
    return at(file, reader.error_line, reader.error.empty() ? "not a device file" : reader.error);
  }
  return std::move(reader.file);
}

Status apply(const DeviceFile& text, const std::string& file, DeviceSpec& spec) {
  if (!text.schema) return at(file, 1, "\"schema\" is missing; this program reads schema 1");
  if (*text.schema != 1)
    return at(file, text.schema_line, "unknown \"schema\"; this program reads schema 1");
  for (const auto& number : text.numbers) {
    const Field* field = find_field(number.section, number.key);
    if (field == nullptr)
      return at(file, number.line,
                "unknown key \"" + number.key + "\" in section \"" + number.section + "\"");
    const double most = field->kind == Kind::kU32   ? kMaxU32
                        : field->kind == Kind::kU64 ? kMaxU64
                                                    : kMaxReal;
    const bool zero_is_meant = std::strcmp(field->key, "compute_minor") == 0;
    if (!std::isfinite(number.value) || number.value < 0 || (number.value == 0 && !zero_is_meant) ||
        number.value > most)
      return at(file, number.line, "\"" + number.key + "\" is out of range");
    if (field->kind != Kind::kReal && !number.whole)
      return at(file, number.line, "\"" + number.key + "\" must be a whole number");
    void* slot = field->slot != nullptr ? field->slot(spec) : nullptr;
    if (slot != nullptr && field->kind == Kind::kU32)
      *static_cast<uint32_t*>(slot) = static_cast<uint32_t>(number.value);
    if (slot != nullptr && field->kind == Kind::kU64)
      *static_cast<uint64_t*>(slot) = static_cast<uint64_t>(number.value);
    if (slot != nullptr && field->kind == Kind::kReal) *static_cast<double*>(slot) = number.value;
    auto same = [&](const SourcedNumber& s) {
      return s.section == number.section && s.key == number.key;
    };
    std::erase_if(spec.sources, same);
    spec.sources.push_back(
        {number.section, number.key, number.value, number.source, file, number.line});
  }
  return Unit{};
}

const EmbeddedDevice* find_embedded(std::string_view stem) {
  const std::string path = "devices/" + std::string(stem) + ".json";
  for (std::size_t i = 0; i < kEmbeddedDeviceCount; ++i)
    if (path == kEmbeddedDevices[i].file) return &kEmbeddedDevices[i];
  return nullptr;
}

bool is_base(const EmbeddedDevice& device) {
  return std::string_view(device.file).substr(std::strlen("devices/")).starts_with(kBasePrefix);
}

// Limits that contradict one another would make the model divide by zero or count nonsense.
Status check_consistent(const DeviceSpec& spec, const std::string& file) {
  auto given = [&](std::string_view section, std::string_view key) {
    return std::any_of(spec.sources.begin(), spec.sources.end(), [&](const SourcedNumber& s) {
      return s.section == section && s.key == key;
    });
  };
  for (const Field& field : kFields)
    if (field.required && !given(field.section, field.key))
      return at(
          file, 1,
          std::string("\"") + field.key + "\" is missing from section \"" + field.section + "\"");
  auto line_of = [&](std::string_view key) {
    for (const auto& s : spec.sources)
      if (s.key == key && s.file == file) return s.line;
    return 1u;
  };
  if (spec.max_warps_per_sm * 32ull != spec.max_threads_per_sm)
    return at(file, line_of("max_warps_per_sm"),
              "\"max_threads_per_sm\" is not 32 times \"max_warps_per_sm\"");
  if (spec.max_threads_per_block > spec.max_threads_per_sm)
    return at(file, line_of("max_threads_per_block"),
              "\"max_threads_per_block\" exceeds \"max_threads_per_sm\"");
  if (spec.shared_per_block_optin + spec.shared_reserved_per_block > spec.shared_per_sm)
    return at(file, line_of("shared_per_block_optin"),
              "\"shared_per_block_optin\" and the reserved bytes exceed \"shared_per_sm\"");
  if (spec.shared_per_block > spec.shared_per_block_optin)
    return at(file, line_of("shared_per_block"),
              "\"shared_per_block\" exceeds \"shared_per_block_optin\"");
  if (spec.registers_per_block > spec.registers_per_sm)
    return at(file, line_of("registers_per_block"),
              "\"registers_per_block\" exceeds \"registers_per_sm\"");
  return Unit{};
}

std::string known_ids() {
  std::string list;
  for (const std::string& id : device_ids()) list += (list.empty() ? "" : ", ") + id;
  return list;
}

}  // namespace

Result<DeviceSpec> parse_device_spec(std::string_view json_text, std::string file) {
  Result<DeviceFile> text = read_text(json_text, file);
  if (!text.ok()) return std::move(text).error();
  DeviceSpec spec;
  if (text->extends) {
    const EmbeddedDevice* base = find_embedded(text->extends->text);
    if (base == nullptr || !is_base(*base)) {
      std::string bases;
      for (std::size_t i = 0; i < kEmbeddedDeviceCount; ++i)
        if (is_base(kEmbeddedDevices[i])) {
          std::string_view stem =
              std::string_view(kEmbeddedDevices[i].file).substr(std::strlen("devices/"));
          stem.remove_suffix(std::strlen(".json"));
          bases += (bases.empty() ? "" : ", ") + std::string(stem);
        }
      return at(file, text->extends->line, "\"extends\" names an unknown file; known: " + bases);
    }
    Result<DeviceFile> base_text = read_text(base->text, base->file);
    if (!base_text.ok()) return std::move(base_text).error();
    if (Status status = apply(*base_text, base->file, spec); !status.ok())
      return std::move(status).error();
  }
  if (Status status = apply(*text, file, spec); !status.ok()) return std::move(status).error();
  if (!text->id || text->id->text.empty()) return at(file, 1, "\"id\" is missing");
  if (!text->name || text->name->text.empty()) return at(file, 1, "\"name\" is missing");
  spec.id = text->id->text;
  spec.name = text->name->text;
  if (Status status = check_consistent(spec, file); !status.ok()) return std::move(status).error();
  return spec;
}

Result<DeviceSpec> load_device_spec(std::string_view name_or_path) {
  const std::string path(name_or_path);
  const auto none = [&](const std::string& what) {
    return Error{what + "; known: " + known_ids() + ", or the path of a device file", "", 0, 0};
  };
  const bool is_path = path.find('/') != std::string::npos || path.ends_with(".json");
  std::error_code missing;
  if (!is_path) {
    for (std::size_t i = 0; i < kEmbeddedDeviceCount; ++i) {
      if (is_base(kEmbeddedDevices[i])) continue;
      Result<DeviceSpec> spec =
          parse_device_spec(kEmbeddedDevices[i].text, kEmbeddedDevices[i].file);
      if (!spec.ok()) return spec;
      if (spec->id == name_or_path) return spec;
    }
    if (path.empty() || !std::filesystem::exists(path, missing))
      return none("unknown GPU \"" + path + "\"");
  }
  if (std::filesystem::is_directory(path, missing))
    return none("\"" + path + "\" is a folder, not a GPU");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{"cannot open the device file", path, 0, 0};
  std::string text(kMaxFileBytes + 1,
                   '\0');  // one byte more than accepted: /dev/zero must end somewhere
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (stream.fail() && stream.gcount() == 0 && !stream.eof()))
    return Error{"cannot read the device file", path, 0, 0};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_device_spec(text, path);
}

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kEmbeddedDeviceCount; ++i) {
    if (is_base(kEmbeddedDevices[i])) continue;
    if (Result<DeviceSpec> spec =
            parse_device_spec(kEmbeddedDevices[i].text, kEmbeddedDevices[i].file);
        spec.ok())
      ids.push_back(spec->id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tw::model
