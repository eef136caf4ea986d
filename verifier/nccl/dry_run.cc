// See dry_run.h.
#include "verifier/nccl/dry_run.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "nccl_abi/releases.h"
#include "verifier/nccl/external.h"
#include "verifier/nccl/find_library.h"
#include "verifier/nccl/library.h"
#include "verifier/probe/in_child.h"

namespace rdmaguard::nccl {
namespace {

using Json = nlohmann::json;
using nccl_abi::versionCode;

/// A transport that NCCL would try, and what became of it.
struct Candidate {
  std::unique_ptr<Net> net;
  NetTrial trial;
};

// --- in the child ------------------------------------------------------------------------------

void emit(int fd, const Json& fact) {
  std::string line = fact.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  for (std::string_view left = line; !left.empty();) {
    const ssize_t n = ::write(fd, left.data(), left.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) left.remove_prefix(static_cast<std::size_t>(n));
  }
}

Json toJson(const NetTrial& trial) {
  Json devices = Json::array();
  for (const Device& d : trial.devices)
    devices.push_back({d.name, d.pciPath, d.port, d.speedMbps, d.ptrSupport});
  return {{"trial",
           {{"name", trial.name},
            {"origin", trial.origin},
            {"state", static_cast<int>(trial.state)},
            {"why", trial.why},
            {"devices", std::move(devices)}}}};
}

/// Init and device list. True: NCCL would take it.
bool attempt(Candidate& c, int version) {
  NetTrial& t = c.trial;
  const bool initialised = c.net->init(1, logger(), nullptr);
  const int count = initialised ? c.net->devices() : 0;
  if (count <= 0) {
    t.state = initialised ? NetTrial::State::NoDevice : NetTrial::State::Failed;
    t.why = initialised ? "It started and found no device it can use." : "Its init failed.";
    // 2.28.3 to 2.29.3 finalize even what failed to initialise; later only what did not.
    if (initialised || version < versionCode(2, 29, 7)) c.net->finalize();
    return false;
  }
  t.state = NetTrial::State::Usable;
  for (int i = 0; i < count; ++i) t.devices.push_back(c.net->device(i));
  return true;
}

std::vector<Candidate> candidates(const Library& library) {
  std::vector<Candidate> all;
  for (ExternalNet& e : loadExternalNets(library.version)) {
    Candidate c;
    c.trial.name = e.net ? e.net->name() : e.library;
    c.trial.origin = e.library;
    c.trial.why = e.why;
    c.net = std::move(e.net);
    all.push_back(std::move(c));
  }
  for (void* object : {library.ib, library.socket}) {
    Candidate c;
    c.net = netAt(object, library.netAbi);
    c.trial.name = c.net->name();
    c.trial.origin = "internal";
    all.push_back(std::move(c));
  }
  return all;
}

void select(const Library& library, int fd) {
  const char* const wanted = std::getenv("NCCL_NET");
  // From 2.28.7 on the name is compared before the init, earlier after it.
  const bool nameFirst = library.version >= versionCode(2, 28, 7);
  std::vector<Candidate> all = candidates(library);
  Candidate* taken = nullptr;
  for (Candidate& c : all) {
    if (!c.net || taken != nullptr) {
      if (c.net) c.trial.why = fmt::format("NCCL takes {} first.", taken->trial.name);
      emit(fd, toJson(c.trial));
      continue;
    }
    const bool named =
        wanted == nullptr || *wanted == '\0' || ::strcasecmp(wanted, c.trial.name.c_str()) == 0;
    if (named || !nameFirst) {
      emit(fd, {{"trying", c.trial.name}});
      try {
        if (attempt(c, library.version) && named) taken = &c;
      } catch (const std::runtime_error& e) {
        c.trial.state = NetTrial::State::Failed;
        c.trial.why = fmt::format("{}.", e.what());
      }
    }
    if (!named) {
      c.trial.state = NetTrial::State::Excluded;
      c.trial.why = fmt::format("NCCL_NET={} names another network.", wanted);
    }
    emit(fd, toJson(c.trial));
  }
  emit(fd, {{"selected", taken != nullptr ? taken->trial.name : ""},
            {"external", taken != nullptr && taken->trial.origin != "internal"}});
  if (taken != nullptr) taken->net->finalize();
}

void work(const std::string& path, int fd) {
  // What NCCL says is evidence. A conf file cannot take it away: the environment goes first.
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,ENV", 1);
  ::setenv("NCCL_DEBUG_FILE", "/dev/stdout", 1);
  const Library library = openLibrary(path);
  emit(fd, {{"library", library.path},
            {"version", library.version},
            {"version_text", library.versionText},
            {"failure", library.failure}});
  if (!library) return;
  emit(fd, {{"started", startLibrary(library)}});
  select(library, fd);
}

// --- in the parent -----------------------------------------------------------------------------

void takeTrial(const Json& j, DryRun& out) {
  NetTrial& t = out.trials.emplace_back();
  t.name = j.value("name", "");
  t.origin = j.value("origin", "");
  t.state = static_cast<NetTrial::State>(j.value("state", 0));
  t.why = j.value("why", "");
  for (const Json& d : j["devices"])
    t.devices.push_back({d[0].get<std::string>(), d[1].get<std::string>(), d[2].get<int>(),
                         d[3].get<int>(), d[4].get<int>()});
}

/// What the child told. `trying`: the network it was at when it told no more.
void takeFacts(const std::string& text, DryRun& out, std::string& trying) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;  // it ended within a line
    const Json fact = Json::parse(rest.substr(0, end), nullptr, false);
    rest.remove_prefix(end + 1);
    if (!fact.is_object()) continue;
    if (fact.contains("library")) {
      out.library = fact.value("library", "");
      out.version = fact.value("version", 0);
      out.versionText = fact.value("version_text", "");
      out.failure = fact.value("failure", "");
    }
    if (fact.contains("started")) out.started = fact.value("started", false);
    if (fact.contains("trying")) trying = fact.value("trying", "");
    if (fact.contains("trial")) {
      takeTrial(fact["trial"], out);
      trying.clear();
    }
    if (fact.contains("selected")) {
      out.outcome = DryRun::Outcome::Done;
      out.selected = fact.value("selected", "");
      out.selectedExternal = fact.value("external", false);
    }
  }
}

}  // namespace

DryRun dryRun(const std::string& wanted, std::chrono::milliseconds limit) {
  DryRun out;
  FoundLibrary found{wanted, "as named"};
  if (wanted == "auto") found = findLibrary();
  out.library = found.name;
  out.how = found.how;
  const probe::ChildRun run = probe::runInChild(limit, [&](int fd) { work(found.name, fd); });
  std::string trying;
  out.outcome = DryRun::Outcome::NotAsked;
  takeFacts(run.result, out, trying);
  out.log = run.printed;
  out.seconds = run.seconds;
  const std::string where =
      trying.empty() ? std::string("while it started") : fmt::format("while it tried {}", trying);
  if (out.outcome == DryRun::Outcome::Done) return out;
  if (!run.started) {
    out.outcome = DryRun::Outcome::Crashed;
    out.failure = "No process could be started for it.";
  } else if (run.timedOut) {
    out.outcome = DryRun::Outcome::TimedOut;
    out.failure = fmt::format("It did not answer within {:.1f} s, {}.", run.seconds, where);
  } else if (!out.failure.empty()) {
    out.outcome = out.version > 0 ? DryRun::Outcome::UnknownRelease : DryRun::Outcome::NoLibrary;
  } else {
    out.outcome = DryRun::Outcome::Crashed;
    out.failure = run.signal != 0 ? fmt::format("It was ended by signal {} ({}), {}.", run.signal,
                                                ::strsignal(run.signal), where)
                                  : fmt::format("It ended by itself {}, with exit code {}.", where,
                                                run.exitCode);
  }
  return out;
}

}  // namespace rdmaguard::nccl
