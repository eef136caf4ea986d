// See log_message.h. Wordings of NCCL 2.2 to 2.32, RCCL, HPC-X's and other plugins.
#include "verifier/readers/log_message.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "verifier/readers/log_devices.h"
#include "verifier/readers/log_header.h"
#include "verifier/readers/log_message_comm.h"
#include "verifier/readers/log_message_net.h"
#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {
namespace {

constexpr Said kWhole{Parsed::Whole, false};
constexpr Said kCut{Parsed::Cut, false};
constexpr Said kOther{Parsed::Other, false};
constexpr Said kFailure{Parsed::Whole, true};

/// Everything a handler may need.
struct Context {
  Processes& processes;
  const engine::JobFacts& job;
  Thread& thread;
  Place at;

  ProcessLog& log() const { return processes.logOf(thread); }
};

/// "AWS Libfabric", "NCCL RDMA Plugin", "Spectrum-X": a few words, no sentence.
bool isNetworkName(std::string_view name) {
  constexpr std::size_t kLongest = 48;
  if (name.size() > kLongest) return false;
  std::size_t blanks = 0;
  for (const char c : name) {
    blanks += c == ' ' ? 1U : 0U;
    if (!isHostNameChar(c) && c != ' ' && c != '+' && c != '/') return false;
  }
  return blanks <= 3;
}

Said sayNetwork(const Context& c, std::string_view name, NetworkLine::Form form) {
  name = withoutBlanks(name);
  if (name.empty()) return kCut;
  if (!isNetworkName(name)) return kOther;
  NetworkLine line;
  line.form = form;
  line.network = name;
  line.at = c.at;
  c.processes.network(c.thread, std::move(line));
  return kWhole;
}

Said usingNetwork(const Context& c, std::string_view rest) {
  return sayNetwork(c, rest, NetworkLine::Form::Using);
}

Said assigned(const Context& c, std::string_view rest) {
  const auto end = rest.find(" to comm");
  if (end == std::string_view::npos) return kCut;
  return sayNetwork(c, rest.substr(0, end), NetworkLine::Form::Assigned);
}

Said initialized(const Context& c, std::string_view rest) {
  return sayNetwork(c, rest, NetworkLine::Form::Initialized);
}

Said netName(const Context& c, std::string_view rest) {
  return sayNetwork(c, rest, NetworkLine::Form::ConfigName);
}

Said notFound(const Context& c, std::string_view rest) {
  const auto end = rest.find(" not found");
  if (end == std::string_view::npos) return kOther;
  sayNetwork(c, rest.substr(0, end), NetworkLine::Form::NotFound);
  return kFailure;
}

/// HPC-X's plugin: "P2P plugin IBext_v8", since 2.22 builds "P2P plugin v8 IBext_v8".
Said p2pPlugin(const Context& c, std::string_view rest) {
  std::string_view second = rest;
  if (takeWords(second, "v") && !second.empty() && isDigitChar(second.front())) {
    const auto blank = second.find(' ');
    if (blank != std::string_view::npos) rest = second.substr(blank + 1);
  }
  c.processes.processOf(c.thread).netPluginLoaded = true;
  return sayNetwork(c, rest, NetworkLine::Form::Loaded);
}

Said initFailed(const Context& c, std::string_view rest) {
  keepPluginFailure(c.log(), engine::PluginFailure::Kind::InitFailed, withoutBlanks(rest), {},
                    c.at);
  return kWhole;
}

Said unsupported(const Context& c, std::string_view rest) {
  keepPluginFailure(c.log(), engine::PluginFailure::Kind::NoSymbol, upTo(rest, " "), {}, c.at);
  return kWhole;
}

Said loadedExternal(const Context& c, std::string_view) {
  c.processes.processOf(c.thread).netPluginLoaded = true;
  return kWhole;
}

Said bootstrap(const Context& c, std::string_view rest) {
  rest = withoutBlanks(rest);
  takeWords(rest, ":");
  rest = withoutBlanks(rest);
  if (!takeWords(rest, "Using")) return std::string_view("Using").starts_with(rest) ? kCut : kOther;
  const Interface i = firstInterface(rest);
  if (i.name.empty()) return kCut;
  c.processes.address(c.thread, Processes::AddressOf::Bootstrap, i.address);
  c.log().bootstrapInterface = i.name;
  c.log().bootstrapAt = c.at;
  return kWhole;
}

Said dmabuf(const Context& c, std::string_view) {
  if (!c.log().dmabuf) c.log().dmabuf = c.at;
  return kWhole;
}

Said noVerbs(const Context& c, std::string_view rest) {
  if (rest.find("libibverbs") == std::string_view::npos) return kOther;
  if (!c.log().libibverbsFailed) c.log().libibverbsFailed = c.at;
  return kWhole;
}

/// RCCL counts devices before it loads anything.
Said detected(const Context& c, std::string_view rest) {
  if (!rest.starts_with("0 IB devices")) return kOther;
  if (!c.log().noDevice) c.log().noDevice = c.at;
  return kWhole;
}

Said connectedRings(const Context& c, std::string_view rest) {
  const std::string_view gdr = after(rest, "GDR ");
  CommLog* comm = c.processes.find(c.thread, {});
  if (comm != nullptr && !gdr.empty() && isDigitChar(gdr.front())) comm->ringGdr = gdr[0] - '0';
  return kWhole;
}

Said version(const Context& c, std::string_view rest) {
  const std::string_view number = upTo(withoutBlanks(rest), "+- ");
  if (number.empty() || !isDigitChar(number.front())) return kCut;
  if (c.log().ncclVersion.empty()) c.log().ncclVersion = number;
  return kWhole;
}

Said rcclVersion(const Context& c, std::string_view rest) {
  c.log().rccl = true;
  rest = withoutBlanks(rest);
  takeWords(rest, ":");
  return version(c, rest);
}

Said commLine(const Context& c, std::string_view text) {
  return commMessage(c.processes, c.thread, text, c.at);
}

/// "[Rank 3] ncclCommInitRank comm 0x..": others that begin so are none of ours.
Said commOfApi(const Context& c, std::string_view text) {
  if (text.find(" comm 0x") != std::string_view::npos) return commLine(c, text);
  return kOther;
}

Said timings(const Context& c, std::string_view text) {
  return timingsMessage(c.processes, c.thread, text);
}

void keepSetting(const Context& c, std::string_view name, std::string_view value) {
  ProcessLog& log = c.log();
  // Numbers are followed by the sentence's full stop.
  if (value.ends_with('.')) {
    std::string_view number = value.substr(0, value.size() - 1);
    if (!number.empty() && number.find_first_not_of("-0123456789") == std::string_view::npos)
      value = number;
  }
  constexpr std::size_t kMaxSettings = 256;
  for (std::size_t i = 0; i < log.settings.size(); ++i)
    if (log.settings[i].name == name) {
      if (log.settings[i].value == value) return;
      log.settings[i].value = value;
      log.settings[i].source = c.job.source(c.at);
      log.settingsAt[i] = c.at;
      return;
    }
  if (log.settings.size() >= kMaxSettings) return;
  engine::Setting& s = log.settings.emplace_back();
  s.name = name;
  s.value = value;
  s.source = c.job.source(c.at);
  log.settingsAt.push_back(c.at);
}

/// "NCCL_X set by environment to Y", "NCCL_IB_HCA set to Y".
Said setting(const Context& c, std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (isHostNameChar(text[n]) && text[n] != '-' && text[n] != '.')) ++n;
  const std::string_view name = text.substr(0, n);
  std::string_view rest = text.substr(n);
  for (const std::string_view words :
       {" set by environment to ", " set by environment: ", " set to "}) {
    if (!rest.starts_with(words)) continue;
    rest.remove_prefix(words.size());
    keepSetting(c, name, withoutBlanks(rest));
    return kWhole;
  }
  return std::string_view(" set by environment to ").starts_with(rest) ? kCut : kOther;
}

/// The environment overrides what the program configured.
Said netNameReset(const Context& c, std::string_view rest) {
  keepSetting(c, "NCCL_NET", withoutBlanks(rest));
  return kWhole;
}

/// "+ NET[1.2] - NET/0": how fast the topology takes the network for, in GB/s.
Said topologyNet(const Context& c, std::string_view rest) {
  double value = 0;
  if (!takeDecimal(rest, value) || !rest.starts_with("]") || value <= 0) return kOther;
  ProcessLog& log = c.log();
  if (log.slowestGbps == 0 || value < log.slowestGbps) {
    log.slowestGbps = value;
    log.slowestAt = c.at;
  }
  return kWhole;
}

Said ofi(const Context& c, std::string_view rest) {
  const auto at = findAnyCase(rest, "selected provider is ");
  if (at != 0) return kOther;
  rest.remove_prefix(std::string_view("selected provider is ").size());
  const std::string_view provider = withoutBlanks(rest.substr(0, rest.find_first_of(", (")));
  if (provider.empty()) return kCut;
  c.log().ofiProvider = provider;
  c.log().ofiProviderAt = c.at;
  return kWhole;
}

Said net(const Context& c, std::string_view rest) {
  return netMessage(c.processes, c.thread, rest, c.at);
}

Said gdr(const Context& c, std::string_view rest) {
  return gdrMessage(c.log(), {}, rest, c.at);
}

/// RCCL and 2.28 tell of a library that did not open by the call.
Said osDlopen(const Context& c, std::string_view rest) {
  const std::string_view file = upTo(rest, ")");
  if (file.find("ccl-net") == std::string_view::npos) return kOther;
  return pluginMessage(c.processes, c.thread, rest.substr(std::min(file.size() + 1, rest.size())),
                       c.at);
}

struct Row {
  std::string_view head;
  Said (*take)(const Context&, std::string_view rest);
  bool unmistakable = true;  ///< also without "NCCL INFO" before it
  bool whole = false;        ///< the handler wants the head too
};

// Sorted by first character in Index; the first row that fits is taken.
constexpr std::array kRows{
    Row{"NET/OFI ", ofi},
    Row{"NET/", net},
    Row{"NCCL version ", version},
    Row{"NCCL_", setting, true, true},
    Row{"Using network ", usingNetwork},
    Row{"Using internal Network ", usingNetwork},
    Row{"Using external Network ", usingNetwork},
    Row{"Assigned NET plugin ", assigned},
    Row{"Initialized NET plugin ", initialized},
    Row{"Failed to initialize NET plugin ", initFailed},
    Row{"Failed to open ", noVerbs},
    Row{"Could not open ", noVerbs, false},
    Row{"Comm config Net name set to ", netName},
    Row{"Comm config netName reset to NCCL_NET=", netNameReset},
    Row{"Connected all rings", connectedRings},
    Row{"External network plugin ", unsupported},
    Row{"Successfully loaded external network plugin ", loadedExternal},
    Row{"Successfully loaded external plugin ", loadedExternal},
    Row{"Error: network ", notFound},
    Row{"P2P plugin ", p2pPlugin, false},
    Row{"GPU Direct RDMA ", gdr},
    Row{"DMA-BUF is available", dmabuf},
    Row{"DMA_BUF Support Enabled", dmabuf, false},
    Row{"Bootstrap", bootstrap},
    Row{"RCCL: Detected ", detected},
    Row{"RCCL version", rcclVersion},
    Row{"RCCL_", setting, true, true},
    Row{"comm 0x", commLine, true, true},
    Row{"ncclComm", commOfApi, true, true},
    Row{"ncclOsDlopen(", osDlopen, false},
    Row{"[Rank ", commOfApi, true, true},
    Row{"Init timings", timings, false},
    Row{"+ NET[", topologyNet, false},
};

/// Frequent messages that tell nothing of the network.
bool isPlain(std::string_view text) {
  for (const std::string_view head :
       {"Channel ", "Ring ", "New proxy ", "Connected to proxy", "Connected ", "Trees ", "Tree ",
        "Proxy Call to rank", "Received and initiated", "ProxyCall UDS", "P2P Chunksize",
        "threadThresholds", "cudaDriverVersion", "Setting affinity", "Pattern ", "Register "})
    if (text.starts_with(head)) return true;
  return false;
}

}  // namespace

Said Messages::take(Thread& t, std::string_view text, Place at) {
  if (text.empty()) return kCut;
  const Context c{processes_, job_, t, at};
  bool cut = false;
  for (const Row& row : kRows) {
    if (row.head.front() != text.front()) continue;
    if (text.starts_with(row.head))
      return row.take(c, row.whole ? text : text.substr(row.head.size()));
    cut = cut || row.head.starts_with(text);
  }
  if (cut) return kCut;
  if (isPlain(text)) return kOther;
  const auto colon = text.substr(0, 40).find(": opCount ");
  if (colon != std::string_view::npos) {
    operationMessage(t, text, colon);
    return kWhole;
  }
  return kOther;
}

bool Messages::takeVersion(std::string_view text, Place at) {
  const bool rccl = text.starts_with("RCCL version");
  if (!rccl && !text.starts_with("NCCL version ")) return false;
  std::string_view rest = text.substr(std::string_view("NCCL version").size());
  rest = withoutBlanks(rest);
  takeWords(rest, ":");
  rest = withoutBlanks(rest);
  const std::string_view number = upTo(rest, "+- ,");
  if (number.empty() || !isDigitChar(number.front())) return false;
  if (std::find(out_.versions.begin(), out_.versions.end(), number) == out_.versions.end() &&
      out_.versions.size() < 64) {
    out_.versions.emplace_back(number);
    out_.versionsAt.push_back(at);
  }
  out_.rccl = out_.rccl || rccl;
  return true;
}

bool Messages::isUnmistakable(std::string_view text) noexcept {
  if (text.empty()) return false;
  ChannelLine line;
  if (parseChannel(text, line) == Parsed::Whole) return true;
  for (const Row& row : kRows) {
    if (!row.unmistakable || row.head.front() != text.front() || !text.starts_with(row.head))
      continue;
    if (row.head == "NCCL_" || row.head == "RCCL_") {
      // "NCCL_DEBUG=INFO" is a line of `env`.
      return text.find(" set by environment to ") != std::string_view::npos ||
             text.find(" set to ") != std::string_view::npos;
    }
    if (row.head == "ncclComm" || row.head == "[Rank ")
      return text.find(" comm 0x") != std::string_view::npos &&
             text.find(" nranks ") != std::string_view::npos;
    if (row.head == "Failed to open " || row.head == "Could not open ")
      return text.find("libibverbs") != std::string_view::npos;
    if (row.head == "Bootstrap") return text.find("Using") != std::string_view::npos;
    return true;
  }
  return false;
}

bool namesFailure(std::string_view text) noexcept {
  if (isPlain(text)) return false;
  if (text.find(" -> ") != std::string_view::npos) return true;
  for (const std::string_view word :
       {"rror", "ail", "efused", "imeout", "imed out", "bort", "closed", "nable to", "retry",
        "exceeded", "ismatch", "async", "Cuda", "completion", "unsupported", "denied", "invalid",
        "output empty", "not supported"})
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace rdmaguard::readers::nccl_log
