// See lifecycle.h. Holds the process's one owner of guard state.
#include "plugin/entry/lifecycle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "plugin/collective/collective.h"
#include "plugin/guard/launcher.h"
#include "plugin/guard/policy.h"
#include "plugin/guard/watch.h"
#include "plugin/report/reporter.h"
#include "plugin/tap/tap.h"

namespace rdmaguard::entry {
namespace {

using namespace std::chrono_literals;

constexpr auto kFinalizeLimit = 100ms;

/// Everything the guard keeps in this process. Made at the first init and never
/// destroyed: NCCL's threads and ours may outlive every destructor.
class Process {
 public:
  explicit Process(int rank)
      : reading_(guard::readPolicy(guard::environmentLookup())), watch_(reading_.policy) {
    const guard::Policy& policy = reading_.policy;
    if (!policy.enabled) return;
    report::ReporterOptions options;
    options.speaker = {report::hostName(), static_cast<int>(::getpid()), rank};
    options.logPattern = policy.log;
    options.directory = policy.directory;
    options.maxBytes = static_cast<std::uint64_t>(policy.maxMebibytes) << 20;
    options.intervalSeconds = policy.intervalSeconds;
    reporter_ = std::make_unique<report::Reporter>(
        options,
        report::ReporterCallbacks{[this] { watch_.look(); }, [this] { return watch_.traffic(); }});
    watch_.attach(*reporter_);
    for (const std::string& complaint : reading_.complaints) reporter_->warn(complaint);
    on_ = reporter_->start();
  }

  bool on() const { return on_ && !forked(); }

  /// True in a child that was forked off after the first init: the report thread did
  /// not come along, so there is nobody to write.
  bool forked() const { return ::getpid() != pid_; }

  void* begin(const InitArgs& args, int* mask) {
    guard::CommunicatorFacts facts = factsOf(args);
    const guard::TapState tap = tapFor(args);
    collective::Communicator* communicator = collective::open(
        {args.abiVersion, facts.nRanks > 0 ? facts.nRanks : -1, facts.rank, inside(args)});
    if (!communicator) {
      reporter_->warn(fmt::format(
          "communicator {:#x} is not recorded: {} are open or memory was refused; the job goes on",
          facts.id, collective::kMaxCommunicators));
      return nullptr;
    }
    reporter_->add(communicator, {facts.id, facts.label, facts.nNodes, facts.nRanks, facts.rank});
    reporter_->record(communicator, [abi = args.abiVersion, tap](const report::Records& records) {
      return records.communicator(abi, tap.versionText, tap.installed ? "installed" : tap.reason,
                                  report::unixMicroseconds());
    });
    watch_.begin(communicator, facts, tap);
    *mask = collective::wantedMask(args.abiVersion);
    return communicator;
  }

  void end(collective::Communicator* communicator) {
    watch_.end(communicator);
    reporter_->remove(communicator, kFinalizeLimit);
  }

  void flush() { reporter_->flush(kFinalizeLimit); }

 private:
  static const void* inside(const InitArgs& args) {
    return args.logger ? args.logger : args.caller;
  }

  static guard::CommunicatorFacts factsOf(const InitArgs& args) {
    guard::CommunicatorFacts facts;
    facts.id = args.commId;
    facts.label = args.commName ? args.commName : "";
    if (args.nNodes > 0) {
      facts.nNodes = args.nNodes;
      facts.nRanks = args.nRanks;
      facts.rank = args.rank;
      return facts;
    }
    const guard::LauncherSizes job = guard::launcherSizes(guard::environmentLookup());
    facts.nNodes = job.nNodes;
    facts.nRanks = job.nRanks;
    facts.rank = job.rank;
    facts.sizesFrom = job.source;
    return facts;
  }

  guard::TapState tapFor(const InitArgs& args) {
    guard::TapState out;
    if (!reading_.policy.tap) {
      out.reason = "NCCL_RDMAGUARD_TAP=0";
      return out;
    }
    const std::scoped_lock lock(tapMutex_);
    const tap::LocateResult nccl = tap::find(args.logger, args.caller);
    out.ncclVersion = nccl.version;
    out.versionText = nccl.versionText;
    out.reason = nccl.reason;
    if (nccl) {
      const tap::InstallResult result = tap::install(nccl);
      out.installed = result.installed;
      out.instance = result.instance;
      out.reason = result.reason;
    }
    if (!out.installed && out.reason != saidReason_) {
      saidReason_ = out.reason;
      reporter_->warn("NCCL's transports are not tapped: " + out.reason +
                      " No bytes per device; the verdict stands on weaker evidence.");
    }
    return out;
  }

  const int pid_ = static_cast<int>(::getpid());
  guard::PolicyReading reading_;
  guard::Watch watch_;
  std::unique_ptr<report::Reporter> reporter_;
  std::mutex tapMutex_;
  std::string saidReason_;
  bool on_ = false;
};

std::mutex processMutex;
Process* process = nullptr;  // leaked on purpose, see Process

Process* theProcess(int rank) {
  const std::scoped_lock lock(processMutex);
  if (!process) process = new Process(rank);
  return process;
}

// What is said where there is no reporter to say it.
void sayOnce(int rank, const std::string& line) noexcept {
  static std::atomic_flag said;
  if (said.test_and_set()) return;
  try {
    report::Log("", {report::hostName(), static_cast<int>(::getpid()), rank}).warn(line);
  } catch (...) {
  }
}

// A job may end without destroying its communicators (os._exit aside): what was
// drained and posted gets out, bounded in time.
[[gnu::destructor]] void flushAtExit() {
  try {
    if (process && process->on()) process->flush();
  } catch (...) {
  }
}

}  // namespace

void* onInit(const InitArgs& args, int* mask) noexcept {
  if (mask) *mask = 0;
  int ignored = 0;
  try {
    Process* p = theProcess(args.rank);
    if (p->on()) return p->begin(args, mask ? mask : &ignored);
    if (p->forked())
      sayOnce(args.rank,
              "this process was forked off one that uses NCCL: the guard is off in it, the job "
              "goes on");
  } catch (const std::exception& e) {
    sayOnce(args.rank, std::string("the guard is off for this communicator (") + e.what() +
                           "): the job goes on");
  } catch (...) {
  }
  return nullptr;
}

void onFinalize(void* context) noexcept {
  if (!context) return;
  try {
    Process* p = theProcess(-1);
    if (p->on()) p->end(static_cast<collective::Communicator*>(context));
  } catch (...) {
  }
}

}  // namespace rdmaguard::entry
