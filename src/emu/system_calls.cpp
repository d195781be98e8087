// What the CUDA device runtime provides to kernels as functions: printf (vprintf), assert
// (__assertfail), malloc and free. Arguments lie in .param variables of the calling thread, which
// the decoder put into local memory: the Op's sources are their offsets.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "emu/cta.h"
#include "emu/machine_handlers.h"
#include "emu/memory.h"
#include "emu/observer.h"

namespace tw::emu {
namespace {

constexpr size_t kMaxString = 1 << 16;

struct Thread {
  Warp* warp;
  uint32_t lane;

  template <class T> bool read(uint64_t address, T& to) const {
    const uint8_t* at = lane_pointer(warp, AccessSpace::generic, address, sizeof(T), lane);
    if (at == nullptr) return false;
    std::memcpy(&to, at, sizeof(T));
    return true;
  }
  // A .param variable of this thread.
  template <class T> T parameter(uint64_t offset) const {
    T value{};
    if (const uint8_t* at = lane_pointer(warp, AccessSpace::local, offset, sizeof(T), lane))
      std::memcpy(&value, at, sizeof(T));
    return value;
  }
  template <class T> void set_parameter(uint64_t offset, T value) const {
    if (uint8_t* at = lane_pointer(warp, AccessSpace::local, offset, sizeof(T), lane))
      std::memcpy(at, &value, sizeof(T));
  }
  std::string string(uint64_t address) const {
    std::string text;
    char c = 0;
    while (text.size() < kMaxString && read(address + text.size(), c) && c != 0) text += c;
    return text;
  }
};

uint64_t constant_source(const MachineOperands& o, const char* frame, uint32_t i) {
  uint64_t value;
  std::memcpy(&value, frame + o.s[i], 8);
  return value;
}

// Formats as device printf does: the arguments lie one after the other, aligned to their size, char
// and short widened to int, float to double.
std::string formatted(const Thread& thread, uint64_t format_address, uint64_t arguments,
                      int& printed) {
  std::string format = thread.string(format_address), out;
  uint64_t at = arguments;
  printed = 0;
  auto next = [&]<class T>(T& value) {
    at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    thread.read(at, value);
    at += sizeof(T);
  };
  char buffer[512];
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    size_t end = format.find_first_of("diouxXfFeEgGaAcsp%", i + 1);
    if (end == std::string::npos) {
      out += format.substr(i);
      break;
    }
    std::string spec = format.substr(i, end - i + 1), length;
    char kind = format[end];
    if (spec.find_first_not_of("%-+ #0123456789.*hljztLdiouxXfFeEgGaAcsp") != std::string::npos) {
      out += format[i];  // not a conversion: printed as it is, never handed to the host's printf
      continue;
    }
    i = end;
    if (kind == '%') {
      out += '%';
      continue;
    }
    // '*' takes an int argument; length modifiers decide the integer's size.
    for (size_t star; (star = spec.find('*')) != std::string::npos;) {
      int width = 0;
      next(width);
      spec.replace(star, 1, std::to_string(width));
    }
    std::string plain;
    for (char c : spec.substr(0, spec.size() - 1))
      if (c == 'l' || c == 'h' || c == 'z' || c == 'j' || c == 't' || c == 'L')
        length += c;
      else
        plain += c;
    bool wide = length == "l" || length == "ll" || length == "z" || length == "j" || length == "t";
    int n = 0;
    ++printed;
    switch (kind) {
      case 'd':
      case 'i': {
        long long v = 0;
        if (wide)
          next(v);
        else {
          int narrow = 0;
          next(narrow);
          v = length == "h"    ? short(narrow)
              : length == "hh" ? static_cast<signed char>(narrow)
                               : narrow;
        }
        n = std::snprintf(buffer, sizeof buffer, (plain + "ll" + kind).c_str(), v);
        break;
      }
      case 'o':
      case 'u':
      case 'x':
      case 'X': {
        unsigned long long v = 0;
        if (wide)
          next(v);
        else {
          unsigned narrow = 0;
          next(narrow);
          v = length == "h"    ? static_cast<unsigned short>(narrow)
              : length == "hh" ? static_cast<unsigned char>(narrow)
                               : narrow;
        }
        n = std::snprintf(buffer, sizeof buffer, (plain + "ll" + kind).c_str(), v);
        break;
      }
      case 'c': {
        int v = 0;
        next(v);
        n = std::snprintf(buffer, sizeof buffer, (plain + 'c').c_str(), v);
        break;
      }
      case 's': {
        uint64_t address = 0;
        next(address);
        std::string text = address == 0 ? "(null)" : thread.string(address);
        std::string big(text.size() + 512, '\0');
        n = std::snprintf(big.data(), big.size(), (plain + 's').c_str(), text.c_str());
        if (n > 0) out.append(big.data(), std::min<size_t>(size_t(n), big.size() - 1));
        continue;
      }
      case 'p': {
        uint64_t v = 0;
        next(v);
        n = std::snprintf(buffer, sizeof buffer, (plain + 'p').c_str(), reinterpret_cast<void*>(v));
        break;
      }
      default: {
        double v = 0;
        next(v);
        n = std::snprintf(buffer, sizeof buffer, (plain + kind).c_str(), v);
        break;
      }
    }
    if (n > 0) out.append(buffer, std::min<size_t>(size_t(n), sizeof buffer - 1));
  }
  return out;
}

template <class F> void for_lanes(uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(uint32_t(__builtin_ctz(lanes)));
}

const Op* call_printf(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  const DeviceOptions& options = *warp->cta->state.options;
  for_lanes(warp->active, [&](uint32_t lane) {
    Thread thread{warp, lane};
    uint64_t format = thread.parameter<uint64_t>(constant_source(o, frame, 0));
    uint64_t arguments = thread.parameter<uint64_t>(constant_source(o, frame, 1));
    int printed = 0;
    std::string text = formatted(thread, format, arguments, printed);
    std::lock_guard lock(warp->cta->state.printf_mutex);
    if (options.on_printf) options.on_printf(text);
    if (o.sources > 2) thread.set_parameter<int32_t>(constant_source(o, frame, 2), printed);
  });
  TW_NEXT;
}

const Op* call_assertfail(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  uint32_t lane = uint32_t(__builtin_ctz(warp->active));
  Thread thread{warp, lane};
  auto argument = [&](uint32_t i) {
    return thread.parameter<uint64_t>(constant_source(o, frame, i));
  };
  const auto& shape = warp->cta->program.block_shape;
  uint32_t t = warp->index * kLanes + lane;
  Fault& f = warp->worker->fault;
  f.kind = FaultKind::assert_failed;
  f.file = thread.string(argument(1));
  f.line = thread.parameter<uint32_t>(constant_source(o, frame, 2));
  f.block = warp->cta->index;
  f.thread = {t % shape[0], t / shape[0] % shape[1], t / shape[0] / shape[1]};
  f.message = fmt::format("{}: Assertion `{}` failed.", thread.string(argument(3)),
                          thread.string(argument(0)));
  warp->pc = op;
  warp->state = WarpState::faulted;
  return nullptr;
}

const Op* call_malloc(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  for_lanes(warp->active, [&](uint32_t lane) {
    Thread thread{warp, lane};
    uint64_t bytes = thread.parameter<uint64_t>(constant_source(o, frame, 0));
    Result<uint64_t> address = warp->cta->state.memory->allocate_on_heap(bytes == 0 ? 1 : bytes);
    if (o.sources > 1)
      thread.set_parameter<uint64_t>(constant_source(o, frame, 1), address.ok() ? *address : 0);
  });
  TW_NEXT;
}

const Op* call_free(TW_HANDLER_ARGS) {
  const auto& o = *static_cast<const MachineOperands*>(op->extra);
  for_lanes(warp->active, [&](uint32_t lane) {
    uint64_t address = Thread{warp, lane}.parameter<uint64_t>(constant_source(o, frame, 0));
    if (address == 0) return;
    MemoryMap& memory = *warp->cta->state.memory;
    const std::optional<Allocation> a = memory.find(address);
    if (a && a->address == address && a->label == kHeapLabel)
      (void)memory.free(address);
    else if (warp->cta->observer != nullptr)
      warp->cta->observer->invalid_free(*warp->cta, *warp, op->site, lane, address);
  });
  // Site caches may hold the bounds of what was freed.
  for (SiteCache& cache : warp->worker->sites) cache = kNoCache;
  TW_NEXT;
}

}  // namespace

Handler system_call_handler(Builtin builtin) {
  switch (builtin) {
    case Builtin::call_printf: return call_printf;
    case Builtin::call_assertfail: return call_assertfail;
    case Builtin::call_malloc: return call_malloc;
    case Builtin::call_free: return call_free;
    default: return nullptr;
  }
}

}  // namespace tw::emu
