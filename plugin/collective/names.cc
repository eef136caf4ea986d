// See names.h.
#include "plugin/collective/names.h"

#include <cstring>

#include "nccl_abi/types.h"

namespace rdmaguard::collective {
namespace {

struct OperationWord {
  std::string_view word;
  Operation operation;
};
// NCCL 2.24 to 2.32 spell operations so.
constexpr std::array<OperationWord, 11> kOperations{{{"AllReduce", Operation::AllReduce},
                                                     {"AllGather", Operation::AllGather},
                                                     {"ReduceScatter", Operation::ReduceScatter},
                                                     {"Broadcast", Operation::Broadcast},
                                                     {"Reduce", Operation::Reduce},
                                                     {"AlltoAll", Operation::AlltoAll},
                                                     {"Gather", Operation::Gather},
                                                     {"Scatter", Operation::Scatter},
                                                     {"SendRecv", Operation::SendRecv},
                                                     {"Send", Operation::Send},
                                                     {"Recv", Operation::Recv}}};

// Index is NCCL 2.23's number of the function, the only release family that hands numbers out.
constexpr std::array<Operation, 8> kFunctions{
    Operation::Broadcast, Operation::Reduce,   Operation::AllGather, Operation::ReduceScatter,
    Operation::AllReduce, Operation::SendRecv, Operation::Send,      Operation::Recv};

// Index is the code. The first eight after "" are the algorithms in the order of NCCL 2.23's
// numbers (v1), then the protocols in theirs.
constexpr std::array<std::string_view, 11> kKnown{
    "",          "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
    "NVLS_TREE", "PAT",  "LL",   "LL128",          "SIMPLE"};
constexpr int kAlgorithms = 7;
constexpr int kProtocols = 3;

}  // namespace

Operation operationFrom(const char* word) noexcept {
  if (word == nullptr) return Operation::Unknown;
  const std::string_view text(word);
  for (const OperationWord& row : kOperations) {
    if (row.word == text) return row.operation;
  }
  return Operation::Unknown;
}

Operation operationFrom(int func) noexcept {
  return func >= 0 && func < static_cast<int>(kFunctions.size())
             ? kFunctions[static_cast<std::size_t>(func)]
             : Operation::Unknown;
}

TypeCode typeFrom(const char* word, int abiVersion) noexcept {
  if (word == nullptr) return {};
  if (const auto row = nccl_abi::dataType(std::string_view(word))) {
    return {static_cast<NameCode>(static_cast<int>(row->type) + 1), row->bytes};
  }
  if (abiVersion <= 6 && std::strcmp(word, "Unknown") == 0) {
    return typeFrom(static_cast<int>(nccl_abi::DataType::Uint8));
  }
  return {};
}

TypeCode typeFrom(int datatype) noexcept {
  const auto row = nccl_abi::dataType(datatype);
  if (!row) return {};
  return {static_cast<NameCode>(datatype + 1), row->bytes};
}

std::string_view typeName(NameCode code) noexcept {
  const auto row = nccl_abi::dataType(static_cast<int>(code) - 1);
  return row ? row->name : std::string_view();
}

NameCode algorithmFrom(int algo) noexcept {
  return algo >= 0 && algo < kAlgorithms ? static_cast<NameCode>(algo + 1) : kNoName;
}

NameCode protocolFrom(int proto) noexcept {
  return proto >= 0 && proto < kProtocols ? static_cast<NameCode>(proto + 1 + kAlgorithms)
                                          : kNoName;
}

NameCode Names::code(const char* word) noexcept {
  if (word == nullptr || word[0] == '\0') return kNoName;
  const std::string_view text(word, strnlen(word, kLength));
  for (std::size_t i = 1; i < kKnown.size(); ++i) {
    if (kKnown[i] == text) return static_cast<NameCode>(i);
  }
  for (std::size_t i = 0; i < kWords; ++i) {
    Word& entry = words_[i];
    std::uint32_t state = entry.state.load(std::memory_order_acquire);
    if (state == 0 && entry.state.compare_exchange_strong(state, 1, std::memory_order_acquire)) {
      std::memcpy(entry.text.data(), text.data(), text.size());
      entry.text[text.size()] = '\0';
      entry.state.store(2, std::memory_order_release);
      return static_cast<NameCode>(kFirstInterned + i);
    }
    // An entry another thread is writing this instant may hold the same word: at worst the word is
    // in the table twice.
    if (state == 2 && text == entry.text.data()) return static_cast<NameCode>(kFirstInterned + i);
  }
  return kOther;
}

std::string_view Names::name(NameCode code) const noexcept {
  if (code < kKnown.size()) return kKnown[code];
  if (code >= kFirstInterned && code < kFirstInterned + kWords) {
    const Word& entry = words_[code - kFirstInterned];
    if (entry.state.load(std::memory_order_acquire) == 2) return entry.text.data();
  }
  return code == kOther ? std::string_view("other") : std::string_view();
}

void Names::clear() noexcept {
  for (Word& entry : words_) entry.state.store(0, std::memory_order_relaxed);
}

}  // namespace rdmaguard::collective
