// See environment.h.
#include "verifier/readers/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string>
#include <utility>

#include "verifier/readers/environment_words.h"
#include "verifier/readers/event_prefix.h"

namespace rdmaguard::readers {
namespace {

constexpr std::size_t kMaxSettings = 65536;
// Fewer NULs than that may be the remains of a lost write.
constexpr std::size_t kFewestVariables = 2;
// A node has dozens of modules loaded: a shorter list was cut by hand.
constexpr std::size_t kFewestModules = 12;
// As many assignments in front of a command or behind an export are read.
constexpr int kMaxOnOneLine = 256;

bool upperName(std::string_view name) {
  return !name.empty() &&
         std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Who wrote NAME=VALUE decides what its quotes are.
enum class Form : std::uint8_t {
  Plain,   // env, nccl.conf: each byte is part of the value
  Quoted,  // declare -x, export: a shell's quotes
  Spaced,  // "NCCL_IB_HCA = mlx5": for NCCL the blank is part of the name
};

struct Assignment {
  std::string_view text;  // begins with the name; empty: the line is none
  Form form = Form::Plain;
};

// A trace of `set -x`: "+ export NCCL_IB_HCA=mlx5", "++ NCCL_DEBUG=INFO".
std::string_view withoutTrace(std::string_view s) {
  const auto plus = s.find_first_not_of('+');
  if (plus == 0 || plus == std::string_view::npos || s[plus] != ' ') return s;
  return trimmed(s.substr(plus));
}

Assignment exported(std::string_view s) {
  for (const std::string_view word : {"declare -x ", "typeset -x ", "export "}) {
    if (!s.starts_with(word)) continue;
    const std::string_view rest = trimmed(s.substr(word.size()));
    if (!assignedName(rest).empty()) return {rest, Form::Quoted};
    return {};
  }
  return {};
}

// Of "NCCL_IB_HCA = mlx5" the name; empty for anything else.
std::string_view spacedName(std::string_view s) {
  const auto blank = s.find_first_of(" \t=");
  if (blank == std::string_view::npos || s[blank] == '=' || !isNetworkName(s)) return {};
  const auto equals = s.find_first_not_of(" \t", blank);
  if (equals == std::string_view::npos || s[equals] != '=') return {};
  const std::string_view value = s.substr(equals + 1);
  // "NCCL_ALGO == Ring" is somebody's code.
  if (value.starts_with('=')) return {};
  const std::string_view name = s.substr(0, blank);
  return upperName(name) ? name : std::string_view{};
}

// A tag costs more to take off than this.
bool holdsNetworkName(std::string_view s) {
  for (const std::string_view family : {"NCCL_", "UCX_", "FI_"})
    if (s.find(family) != std::string_view::npos) return true;
  return false;
}

// An assignment with what may stand before it.
Assignment assignmentOf(std::string_view line) {
  const std::string_view s = trimmed(line);
  if (s.find('=') == std::string_view::npos) return {};
  if (!assignedName(s).empty()) return {s, Form::Plain};
  if (const Assignment a = exported(s); !a.text.empty()) return a;
  if (!spacedName(s).empty()) return {s, Form::Spaced};
  // Behind a trace's or a launcher's tag names of the network's own alone: words with '=' are
  // everywhere.
  if (const std::string_view traced = withoutTrace(s); traced.size() < s.size()) {
    if (const Assignment a = exported(traced); !a.text.empty()) return a;
    if (isNetworkName(assignedName(traced))) return {traced, Form::Quoted};
    return {};
  }
  if (!holdsNetworkName(s)) return {};
  std::string_view rest = s.starts_with("- ") ? trimmed(s.substr(2)) : takePrefix(s).rest;
  constexpr std::size_t kLongestHost = 128;
  const auto colon = rest.find(": ");
  if (colon < rest.find('=') && colon < kLongestHost &&
      rest.substr(0, colon).find(' ') == std::string_view::npos)
    rest = trimmed(rest.substr(colon + 1));
  if (!isNetworkName(assignedName(rest))) return {};
  return {rest, Form::Plain};
}

// csh: "setenv NCCL_IB_HCA mlx5"
std::string_view setenvRest(std::string_view s) {
  return s.starts_with("setenv ") ? trimmed(s.substr(7)) : std::string_view{};
}

std::string_view unquoted(std::string_view s) {
  if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front())
    return s.substr(1, s.size() - 2);
  return s;
}

// A value as a shell reads it, up to the blank behind it; `rest` goes on there.
std::string shellWord(std::string_view& rest) {
  std::string out;
  char quote = 0;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == ';')) break;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote && quote != 0) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < rest.size()) {
      out += rest[++i];
    } else {
      out += c;
    }
  }
  rest.remove_prefix(i);
  return out;
}

/// Takes the lines of one region.
class FactTaker {
 public:
  explicit FactTaker(JobFacts& out) : out_(out) {}

  void line(std::string_view raw, Place at) {
    const std::string_view s = trimmed(raw);
    if (s.empty()) return;
    const NodeLine kind = nodeLine(s, true);
    const NodeLine before = std::exchange(last_, kind);
    if (kind != NodeLine::Nodes && kind != NodeLine::Total) endOfNodes(kind != NodeLine::Elision);
    if (kind != NodeLine::Module) endOfModules(kind != NodeLine::Elision);
    switch (kind) {
      case NodeLine::Limit:
        if (before == NodeLine::LimitPrompt) fact({"ulimit -l", std::string(s)}, at);
        if (before == NodeLine::HardPrompt) fact({"ulimit -Hl", std::string(s)}, at);
        return;
      case NodeLine::ListPrompt:
        listed_ = at;
        return;
      case NodeLine::Nodes:
        if (!listed_) listed_ = at;
        verbs_ = verbs_ || s.find("uverbs") != std::string_view::npos;
        nodes_ = true;
        return;
      case NodeLine::Total:
        total_ = true;
        return;
      case NodeLine::Modules:
        modulesAt_ = at;
        modules_ = 0;
        return;
      case NodeLine::Module:
        ++modules_;
        fact({"module " + std::string(moduleName(s)), "loaded"}, at);
        return;
      case NodeLine::Fact:
        for (HostFact& f : hostFacts(s)) fact(std::move(f), at);
        return;
      case NodeLine::Docker:
        return docker(s, at);
      case NodeLine::LimitPrompt:
      case NodeLine::HardPrompt:
      case NodeLine::Elision:
      case NodeLine::Filler:
        return;
      case NodeLine::None:
        break;
    }
    if (const std::string_view pair = setenvRest(s); !pair.empty()) {
      const auto blank = std::min(pair.find(' '), pair.size());
      setting(pair.substr(0, blank), unquoted(trimmed(pair.substr(blank))), at);
      return;
    }
    if (const Assignment a = assignmentOf(s); !a.text.empty()) assign(a, at);
  }

  /// `cut`: the input ended within the region.
  void finish(bool cut) {
    endOfNodes(!cut);
    endOfModules(!cut);
  }

  void setting(std::string_view name, std::string_view value, Place at) {
    if (out_.settings.size() >= kMaxSettings || name.empty()) return;
    engine::Setting s;
    s.name = name;
    s.value = value;
    s.source = out_.source(at);
    out_.settings.push_back(std::move(s));
  }

 private:
  // uverbs comes last in a list: one that is not whole does not show that there is none.
  void endOfNodes(bool whole) {
    if (listed_ && !verbs_ && whole && (nodes_ || total_))
      fact({"/dev/infiniband", "no uverbs"}, listed_);
    if (listed_ && verbs_) fact({"/dev/infiniband", "uverbs"}, listed_);
    listed_ = {};
    verbs_ = nodes_ = total_ = false;
  }

  void endOfModules(bool whole) {
    if (modulesAt_ && whole && modules_ >= kFewestModules) fact({"lsmod", "whole"}, modulesAt_);
    modulesAt_ = {};
    modules_ = 0;
  }

  void assign(const Assignment& a, Place at) {
    std::string_view rest = a.text;
    const std::string_view name = assignedName(rest);
    if (a.form == Form::Spaced) {
      const auto equals = rest.find('=');
      setting(rest.substr(0, equals), rest.substr(equals + 1), at);
      return;
    }
    if (a.form == Form::Plain) {
      const std::string_view value = rest.substr(name.size() + 1);
      const auto blank = value.find(' ');
      const bool command = blank != std::string_view::npos && isNetworkName(name) &&
                           isNetworkName(assignedName(trimmed(value.substr(blank))));
      if (!command) {
        setting(name, value, at);
        return;
      }
    }
    // "NCCL_DEBUG=INFO NCCL_IB_HCA=mlx5 python train.py", "export A=1 B='2 3' # both"
    for (int i = 0; i < kMaxOnOneLine; ++i) {
      const std::string_view next = assignedName(rest);
      if (next.empty()) return;
      rest.remove_prefix(next.size() + 1);
      const std::string value = shellWord(rest);
      // What the shell would put in is not to be seen.
      if (value.find('$') == std::string::npos) setting(next, value, at);
      rest = trimmed(rest);
    }
  }

  // docker run -e NAME=VALUE --env=NAME=VALUE --ulimit memlock=-1
  void docker(std::string_view rest, Place at) {
    std::string_view option;
    while (!rest.empty()) {
      rest = trimmed(rest);
      std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      rest.remove_prefix(word.size());
      for (const std::string_view joined : {"--env=", "--ulimit=", "-e="})
        if (word.starts_with(joined)) {
          option = joined.substr(0, joined.size() - 1);
          word.remove_prefix(joined.size());
          break;
        }
      if (option == "-e" || option == "--env") {
        word = unquoted(word);
        if (const auto name = assignedName(word); !name.empty())
          setting(name, unquoted(word.substr(name.size() + 1)), at);
      } else if (option == "--ulimit" && word.starts_with("memlock=")) {
        memlock(word.substr(8), at);
      }
      option = word;
    }
  }

  // "-1", "67108864:67108864": bytes, soft and hard.
  void memlock(std::string_view limit, Place at) {
    limit = limit.substr(0, limit.find(':'));
    std::uint64_t bytes = 0;
    const auto end = std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
    if (end.ec == std::errc())
      fact({"ulimit -l", std::to_string(bytes >> 10)}, at);
    else if (limit == "-1" || limit == "unlimited")
      fact({"ulimit -l", "unlimited"}, at);
  }

  void fact(HostFact f, Place at) {
    if (out_.hostFacts.size() >= kMaxSettings) return;
    engine::Setting s;
    s.name = std::move(f.name);
    s.value = std::move(f.value);
    s.source = out_.source(at);
    out_.hostFacts.push_back(std::move(s));
  }

  JobFacts& out_;
  NodeLine last_ = NodeLine::None;
  Place listed_{};  // where the list of /dev/infiniband that goes on begins
  bool verbs_ = false, nodes_ = false, total_ = false;
  Place modulesAt_{};
  std::size_t modules_ = 0;
};

// Of env output: names in small letters are everywhere ("rank=3 failed"), a value of several words
// is not behind them.
bool smallName(std::string_view s) {
  const std::string_view name = assignedName(s);
  if (name.empty()) return false;
  for (const std::string_view known : {"http_proxy", "https_proxy", "no_proxy", "container", "_"})
    if (name == known) return true;
  return s.find_first_of(" \t") == std::string_view::npos;
}

}  // namespace

Claim claimEnvironment(std::string_view line, bool inside) noexcept {
  const std::string_view s = trimmed(line);
  if (s.empty()) return inside ? Claim::Continues : Claim::No;
  const Claim claimed = inside ? Claim::Continues : Claim::Starts;
  if (nodeLine(s, inside) != NodeLine::None) return claimed;
  const Assignment a = assignmentOf(s);
  if (a.form == Form::Spaced || upperName(assignedName(a.text))) return claimed;
  if (isNetworkName(setenvRest(s))) return claimed;
  if (!inside) return Claim::No;
  if (s[0] == '#' || s.starts_with("declare -")) return Claim::Continues;
  return smallName(a.text) ? Claim::Continues : Claim::No;
}

void readEnvironment(std::string_view text, Place first, bool cut, JobFacts& out) noexcept {
  try {
    FactTaker take(out);
    for (Place at = first; !text.empty(); ++at.line) {
      const auto end = text.find('\n');
      take.line(text.substr(0, end), at);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    take.finish(cut);
  } catch (const std::exception&) {
    // Out of memory: what was read stands.
  }
}

bool readEnvironBlock(std::string_view block, Place at, JobFacts& out) noexcept {
  std::size_t variables = 0;
  for (std::string_view rest = block; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.empty()) continue;
    if (assignedName(one).empty()) return false;
    ++variables;
  }
  if (variables < kFewestVariables) return false;
  try {
    FactTaker take(out);
    for (std::string_view rest = block; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const std::string_view name = assignedName(one);
      if (!name.empty()) take.setting(name, one.substr(name.size() + 1), at);
    }
  } catch (const std::exception&) {
    // Out of memory: what was read stands.
  }
  return true;
}

}  // namespace rdmaguard::readers
