// See log_operations.h.
#include "verifier/readers/log_operations.h"

#include <cstring>

namespace rdmaguard::readers::nccl_log {

static_assert(sizeof(std::uint64_t) == 8);

ShortWord ShortWord::of(std::string_view word) {
  ShortWord w;
  w.size = static_cast<std::uint8_t>(word.size());
  std::memcpy(&w.front, word.data(), 8);
  if (word.size() > 8) {
    std::memcpy(&w.back, word.data() + word.size() - 8, 8);
  } else if (word.size() < 8) {
    // The bytes behind it are not its own. The first byte is the lowest one.
    w.front &= (std::uint64_t{1} << (8 * word.size())) - 1;
  }
  return w;
}

std::string ShortWord::text() const {
  std::string out(size, '\0');
  std::memcpy(out.data(), &front, size < 8 ? size : 8);
  if (size > 8) std::memcpy(out.data() + size - 8, &back, 8);
  return out;
}

void Operations::hand(const Entry& e, std::vector<engine::CommLog>& comms) {
  if (e.lines == 0 || e.comm >= comms.size()) return;
  comms[e.comm].opLines += e.lines;
  comms[e.comm].lastOp = e.last.text();
}

void Operations::set(std::size_t i, const Entry& e) {
  if (i < kInside) backs_[i] = e.pointer.back;
  entry(i) = e;
}

void Operations::add(const ShortWord& pointer, std::uint32_t comm,
                     std::vector<engine::CommLog>& comms) {
  Entry e;
  e.pointer = pointer;
  e.comm = comm;
  if (size_ == kMost) {
    hand(entry(next_), comms);
    set(next_, e);
    next_ = (next_ + 1) % kMost;
    return;
  }
  if (size_ >= kInside) further_.emplace_back();
  set(size_++, e);
}

void Operations::flush(std::vector<engine::CommLog>& comms) {
  for (std::size_t i = 0; i < size_; ++i) hand(entry(i), comms);
  further_.clear();
  size_ = next_ = 0;
}

}  // namespace rdmaguard::readers::nccl_log
