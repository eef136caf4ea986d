// See verdict.h.
#include "verifier/engine/verdict.h"

#include "verifier/engine/settings.h"

namespace rdmaguard::engine {
namespace {

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = s.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::optional<Requirement> parseRequirement(std::string_view text) noexcept {
  Requirement wanted;
  bool netNamed = false;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    const std::string_view word = trimmed(text.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    if (sameWord(word, "gdr")) {
      if (wanted.gdr) return std::nullopt;
      wanted.gdr = true;
      continue;
    }
    if (netNamed) return std::nullopt;
    netNamed = true;
    if (sameWord(word, "rdma"))
      wanted.net = Requirement::Net::Rdma;
    else if (sameWord(word, "ib"))
      wanted.net = Requirement::Net::IB;
    else if (sameWord(word, "roce"))
      wanted.net = Requirement::Net::RoCE;
    else
      return std::nullopt;
  }
  return wanted;
}

std::string_view name(Requirement r) noexcept {
  switch (r.net) {
    case Requirement::Net::Rdma:
      break;
    case Requirement::Net::IB:
      return r.gdr ? "ib,gdr" : "ib";
    case Requirement::Net::RoCE:
      return r.gdr ? "roce,gdr" : "roce";
  }
  return r.gdr ? "rdma,gdr" : "rdma";
}

int exitCode(const Verdict& verdict) noexcept {
  if (verdict.requirement == Met::Violated) return 2;
  switch (verdict.engaged) {
    case Engaged::No:
    case Engaged::Partial:
      return 2;
    case Engaged::Unknown:
      return 3;
    case Engaged::NotNeeded:
      return 0;
    case Engaged::Yes:
      break;
  }
  return verdict.degraded.empty() ? 0 : 1;
}

}  // namespace rdmaguard::engine
