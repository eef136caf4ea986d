// See log_message_comm.h.
#include "verifier/readers/log_message_comm.h"

#include <algorithm>

#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

using CommLine = Processes::CommLine;

constexpr Said kWhole{Parsed::Whole, false};
constexpr Said kCut{Parsed::Cut, false};
constexpr Said kOther{Parsed::Other, false};

int numberOf(std::string_view text, std::string_view key) {
  int value = -1;
  std::string_view rest = after(text, key);
  return !rest.empty() && takeDecimal(rest, value) ? value : -1;
}

std::string_view hexOf(std::string_view text, std::string_view key) {
  const std::string_view rest = after(text, key);
  std::size_t n = 0;
  while (n < rest.size() && (isHexChar(rest[n]) || rest[n] == 'x')) ++n;
  return rest.substr(0, n);
}

/// Takes what follows the last blank off the end.
std::string_view dropLastWord(std::string_view& s) {
  const std::size_t end = s.size();
  std::size_t at = end;
  while (at > 0 && s[at - 1] != ' ') --at;
  const std::string_view word = s.substr(at);
  s.remove_suffix(end - at);
  return word;
}

bool dropWords(std::string_view& s, std::string_view words) {
  if (!s.ends_with(words)) return false;
  s.remove_suffix(words.size());
  return true;
}

}  // namespace

Said commMessage(Processes& processes, Thread& t, std::string_view text, Place at) {
  const auto begin = text.find("comm 0x");
  if (begin == std::string_view::npos) return kOther;
  // ncclCommInitAll makes all of a communicator's ranks in the process that calls it.
  const bool oneProcess = text.substr(0, begin).find("ncclCommInitAll ") != std::string_view::npos;
  text.remove_prefix(begin);
  CommLine line;
  line.pointer = hexOf(text, "comm ");
  line.rank = numberOf(text, " rank ");
  const int lower = numberOf(text, " nranks ");
  const int upper = numberOf(text, " nRanks ");
  line.nRanks = std::max({lower, upper, 0});
  if (line.rank < 0 || line.nRanks == 0) return kCut;
  line.id = hexOf(text, "commId ");
  line.parent = hexOf(text, " parent ");
  line.split = !line.parent.empty();
  using Phase = CommLine::Phase;
  if (upper >= 0) {
    line.nNodes = std::max(numberOf(text, " nNodes "), 0);
    if (line.nNodes == 0) return kCut;
    line.localRanks = std::max(numberOf(text, " localRanks "), 0);
    line.mnnvl = numberOf(text, " MNNVL ");
    line.phase = Phase::Nodes;
  } else if (text.find("Init START") != std::string_view::npos) {
    line.phase = Phase::Start;
  } else if (text.find("Init COMPLETE") != std::string_view::npos) {
    line.phase = Phase::Complete;
  } else if (text.find("Destroy COMPLETE") != std::string_view::npos) {
    line.phase = Phase::Destroy;
  } else if (text.find("Abort COMPLETE") != std::string_view::npos) {
    line.phase = Phase::Abort;
  } else if (text.find(" cudaDev ") != std::string_view::npos) {
    // A begun or a complete communicator: what was cut off would say.
    processes.comm(t, line, at);
    return kCut;
  }
  if (oneProcess && line.nNodes == 0) line.nNodes = 1;
  processes.comm(t, line, at);
  return kWhole;
}

Said timingsMessage(Processes& processes, Thread& t, std::string_view text) {
  CommLog* comm = processes.find(t, {});
  const int rank = numberOf(text, " rank ");
  const int nRanks = numberOf(text, " nranks ");
  if (comm == nullptr || rank < 0 || nRanks <= 0) return kWhole;
  if (comm->rank < 0) comm->rank = rank;
  if (comm->rank == rank && comm->nRanks == 0) comm->nRanks = nRanks;
  return kWhole;
}

void operationMessage(Thread& t, std::string_view text, std::size_t colon) {
  std::vector<CommLog>& comms = t.process->log.comms;
  const std::string_view pointer = hexOf(text, " comm ");
  const auto comm = std::find_if(comms.rbegin(), comms.rend(), [&](const CommLog& c) {
    return !pointer.empty() && c.pointer == pointer;
  });
  if (comm == comms.rend()) return;
  t.process->operations.flush(comms);
  ++comm->opLines;
  comm->lastOp = text.substr(0, colon);
}

bool Messages::takeOperation(Process& process, std::string_view text) {
  constexpr std::string_view kCount = ": opCount ";
  std::size_t name = 0;
  while (name < text.size() && name <= ShortWord::kLongest && text[name] >= 'A' &&
         text[name] <= 'z')
    ++name;
  if (name == 0 || name > ShortWord::kLongest || text.substr(name, kCount.size()) != kCount)
    return false;
  // From the end, since most of the line is of no use: "comm 0x.. [nranks=8] stream 0x..".
  std::string_view rest = text;
  if (!dropLastWord(rest).starts_with("0x") || !dropWords(rest, "] stream ")) return false;
  while (!rest.empty() && isDigitChar(rest.back())) rest.remove_suffix(1);
  if (!dropWords(rest, " [nranks=")) return false;
  const std::string_view pointer = dropLastWord(rest);
  if (!pointer.starts_with("0x") || !rest.ends_with(" comm ")) return false;
  if (pointer.size() > ShortWord::kLongest) return false;
  // Another line may have broken into this one.
  if (findMarker(text, 0).level != Marker::Level::None) return false;
  processes_.operation(process, ShortWord::of(pointer), pointer,
                       ShortWord::of(text.substr(0, name)));
  return true;
}

}  // namespace rdmaguard::readers::nccl_log
