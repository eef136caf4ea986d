// Rules about variables that do not do what they seem to. See rules_env.h.
#include "verifier/engine/rules_env.h"

#include <algorithm>
#include <set>

#include "verifier/engine/log_case.h"
#include "verifier/engine/nccl_variables.h"
#include "verifier/engine/setting_sources.h"
#include "verifier/engine/settings.h"
#include "verifier/engine/text.h"

namespace rdmaguard::engine {
namespace {

// The field of a queue pair that holds the count has three bits.
constexpr long long kMaxRetries = 7;
constexpr long long kMaxTimeout = 31;
constexpr std::size_t kMaxEvidence = 8;

// A name and why: one sentence for each variable, however often it is set.
class PerVariable {
 public:
  void add(const SeenSetting& s, std::string why) {
    if (found_.evidence.size() >= kMaxEvidence || !names_.insert(s.name).second) return;
    found_.evidence.push_back({std::move(why), s.source, Certainty::Told});
  }

  MaybeFinding take(std::string_view one, std::string_view many, std::string fix = {}) {
    if (names_.empty()) return std::nullopt;
    const std::vector<std::string> names(names_.begin(), names_.end());
    found_.what = cat(listed(names), " ", names.size() == 1 ? one : many);
    found_.fix = std::move(fix);
    found_.certainty = Certainty::Told;
    return std::move(found_);
  }

 private:
  Finding found_;
  std::set<std::string> names_;
};

// Rules of this file say what each variable of an input comes to.
template <typename Look>
void eachVariable(const Case& c, const Look& look) {
  if (!c.job) return;
  eachSetting(*c.job, [&look](const SeenSetting& s) {
    look(s);
    return true;
  });
}

// The release that all log lines name, as ncclGetVersion counts; 0: none or several.
int versionOf(const JobFacts& job) {
  std::set<int> codes;
  for (const std::string& v : job.log.versions) codes.insert(versionCode(v));
  for (const ProcessLog& p : job.log.processes)
    if (!p.ncclVersion.empty()) codes.insert(versionCode(p.ncclVersion));
  return codes.size() == 1 && !job.log.rccl ? *codes.begin() : 0;
}

// 22907 -> "2.29.7", 2408 -> "2.4.8"
std::string versionText(int code) {
  const int thousands = code >= 10000 ? 10000 : 1000;
  return cat(std::to_string(code / thousands), ".", std::to_string(code % thousands / 100), ".",
             std::to_string(code % 100));
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isBlank(char c) {
  return c == ' ' || c == '\t';
}

// A shell, a template or a reader's placeholder puts something in there.
bool placeholder(std::string_view value) {
  return value.find_first_of("${}<>") != std::string_view::npos;
}

bool quoted(std::string_view value) {
  return value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
         value.back() == value.front();
}

/// How strtoll() reads a value that is not wholly a number; empty: it is one.
std::string misreading(std::string_view value) {
  while (!value.empty() && isBlank(value.front())) value.remove_prefix(1);
  if (value.empty() || placeholder(value) || quoted(value)) return {};
  const auto number = numberValue(value);
  if (!number) return "out of range, and NCCL takes its default";
  std::size_t at = value.front() == '-' || value.front() == '+' ? 1 : 0;
  if (at >= value.size() || !isDigit(value[at])) {
    // What 0 means anyway.
    for (const std::string_view zero : {"false", "no", "off", "n", "f", "disable", "disabled"})
      if (sameWord(value, zero)) return {};
    return "no number, and NCCL reads it as 0";
  }
  const bool hexadecimal = value.substr(at).starts_with("0x") || value.substr(at).starts_with("0X");
  at += hexadecimal ? 2 : 0;
  const auto isPart = [hexadecimal](char c) {
    return isDigit(c) || (hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  };
  while (at < value.size() && isPart(value[at])) ++at;
  if (at >= value.size() || isBlank(value[at])) return {};
  return cat("read as ", std::to_string(*number), ": what follows the digits is ignored");
}

}  // namespace

MaybeFinding ibRetryCountTooHigh(const Case& c) {
  if (!c.job) return std::nullopt;
  MaybeFinding found;
  eachSetting(*c.job, [&found](const SeenSetting& s) {
    const auto n = s.name == "NCCL_IB_RETRY_CNT" ? numberValue(s.value) : std::nullopt;
    if (!n || *n <= kMaxRetries) return true;
    const long long kept = *n & kMaxRetries;
    found = Finding{
        .what = cat("NCCL_IB_RETRY_CNT=", s.value, " does not fit: three bits of it are kept, so ",
                    std::to_string(kept), kept == 1 ? " retry is" : " retries are", " made."),
        .evidence = {{cat("NCCL_IB_RETRY_CNT=", s.value, "."), s.source, Certainty::Told}},
        .fix = "Set NCCL_IB_RETRY_CNT=7, the most that counts, or unset it (7 is the default).",
        .certainty = Certainty::Told};
    return false;
  });
  return found;
}

MaybeFinding ibTimeoutOutOfRange(const Case& c) {
  if (!c.job) return std::nullopt;
  MaybeFinding found;
  eachSetting(*c.job, [&found](const SeenSetting& s) {
    const auto n = s.name == "NCCL_IB_TIMEOUT" ? numberValue(s.value) : std::nullopt;
    if (!n || (*n > 0 && *n <= kMaxTimeout)) return true;
    const long long kept = *n & kMaxTimeout;
    found = Finding{
        .what = kept == 0
                    ? cat("NCCL_IB_TIMEOUT=", s.value,
                          " means no timeout at all: a lost message is waited for without end.")
                    : cat("NCCL_IB_TIMEOUT=", s.value, " does not fit: five bits of it are kept, ",
                          std::to_string(kept), "."),
        .evidence = {{cat("NCCL_IB_TIMEOUT=", s.value, "."), s.source, Certainty::Told}},
        .certainty = Certainty::Told};
    return false;
  });
  return found;
}

MaybeFinding variableMisspelt(const Case& c) {
  PerVariable found;
  std::string fix;
  eachVariable(c, [&](const SeenSetting& s) {
    // What NCCL reports it knows.
    if (s.place == SettingPlace::Log) return;
    const std::string_view meant = meantVariable(s.name);
    if (meant.empty()) return;
    found.add(s, cat(s.name, " is set: NCCL has no such variable and has ", meant, "."));
    if (fix.empty()) fix = cat("Where ", meant, " is meant, write it so instead of ", s.name, ".");
  });
  return found.take("is no variable of NCCL, and its name is close to one that is.",
                    "are no variables of NCCL, and their names are close to some that are.", fix);
}

MaybeFinding variableNotRead(const Case& c) {
  if (!c.job) return std::nullopt;
  const int version = versionOf(*c.job);
  PerVariable found;
  eachVariable(c, [&](const SeenSetting& s) {
    const NcclVariable* v = s.place == SettingPlace::Log ? nullptr : ncclVariable(s.name);
    if (!v) return;
    const bool gone = v->last != 0 && (version == 0 || version > v->last);
    const bool notYet = version != 0 && version < v->first;
    if (!gone && !notYet) return;
    const std::string runs =
        version == 0 ? std::string() : cat("; this is NCCL ", versionText(version));
    found.add(s, gone
                     ? cat(s.name, " is set: NCCL reads it up to ", versionText(v->last), runs, ".")
                     : cat(s.name, " is set: NCCL reads it from ", versionText(v->first), " on",
                           runs, "."));
  });
  return found.take("is set and not read by this release of NCCL: it has no effect.",
                    "are set and not read by this release of NCCL: they have no effect.");
}

MaybeFinding settingNotANumber(const Case& c) {
  PerVariable found;
  eachVariable(c, [&](const SeenSetting& s) {
    // NCCL_IB_DISABLE has a row of its own.
    if (s.place == SettingPlace::Log || s.name == "NCCL_IB_DISABLE") return;
    const NcclVariable* v = ncclVariable(s.name);
    if (!v || !v->number) return;
    if (const std::string how = misreading(s.value); !how.empty())
      found.add(s, cat(s.name, "=", s.value, " is ", how, "."));
  });
  return found.take("is not given the number that NCCL reads.",
                    "are not given the numbers that NCCL reads.",
                    "Write a whole number, in bytes where it is a size.");
}

MaybeFinding settingQuoted(const Case& c) {
  PerVariable found;
  eachVariable(c, [&](const SeenSetting& s) {
    if (s.place != SettingPlace::Paste || !s.name.starts_with("NCCL_")) return;
    const NcclVariable* v = ncclVariable(s.name);
    const bool comment = (!v || !v->number) && s.value.find(" #") != std::string::npos;
    if (!quoted(s.value) && !comment) return;
    found.add(s, cat(s.name, "=", s.value, "."));
  });
  return found.take(
      "has quotes or a comment in its value: from nccl.conf or an env file NCCL takes them as part "
      "of the value, and only a shell removes them.",
      "have quotes or comments in their values: from nccl.conf or an env file NCCL takes them as "
      "part of the value, and only a shell removes them.",
      "Where this is nccl.conf or an env file, remove the quotes, and give comments lines of their "
      "own.");
}

MaybeFinding blankBeforeEquals(const Case& c) {
  PerVariable found;
  eachVariable(c, [&](const SeenSetting& s) {
    if (s.place != SettingPlace::Paste || s.name.empty() || !isBlank(s.name.back())) return;
    found.add(s, cat("\"", s.name, "=", s.value, "\"."));
  });
  return found.take(
      "has a blank in front of '=': in nccl.conf the blank is part of the name, and NCCL does not "
      "find the variable.",
      "have blanks in front of '=': in nccl.conf the blank is part of the name, and NCCL does not "
      "find the variables.");
}

}  // namespace rdmaguard::engine
