// The table of errors: what each means, what may have caused it, in which order to look, what it
// is not. `rdmaguard explain` applies it, `rdmaguard rules --errors` prints it. Rows are in
// error_rules_*.cc, a file a subject. Pure, any thread; allocates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmaguard/transport.h"
#include "verifier/engine/run_facts.h"

namespace rdmaguard::engine {

struct ErrorCase;   // the input and what follows from it at once (error_case.h)
struct ErrorGroup;  // all events of one kind of error (error_case.h)

/// The layer of the system that a cause lies in.
enum class Layer : std::uint8_t {
  Unknown,
  Application,  ///< the training program: its code, its memory, its data loading
  JobLayout,    ///< ranks, tasks and GPUs as the launcher or scheduler lays them out
  Storage,      ///< a mount or the object store
  Gpu,          ///< GPU, NVLink, NVSwitch and their driver
  Container,    ///< image and pod: libraries, limits, devices, namespaces
  Software,     ///< NCCL, its plugins and settings
  Node,         ///< the host: kernel, its modules and memory
  Link,         ///< an HCA, its port, cable and switch port
  Fabric,       ///< what lies between the nodes
};

/// "application", "job layout", "storage", "gpu", "container", "nccl setup", "node",
/// "hca or its link", "fabric", "unknown"
std::string_view name(Layer layer) noexcept;

/// How near to the beginning of a failure errors of a kind stand where times cannot tell: of two
/// that may be first, the lower number is.
enum class Depth : std::uint8_t {
  Machine = 10,   ///< GPU, kernel, NVSwitch report a fault
  Process = 20,   ///< a process died of itself, or was refused what it needs to begin
  Setup = 30,     ///< connections could not be made
  Port = 40,      ///< a port or device went away
  Transfer = 45,  ///< data was lost or refused: completions in error
  Flush = 47,     ///< work thrown away because its connection was in error already
  Hearsay = 50,   ///< the other side is gone: closed sockets, proxy operations
  Outcome = 60,   ///< what a job that failed says last: NCCL's codes, watchdog, aborts
  Evidence = 99,  ///< no failure by itself; speaks for or against causes of others
};

/// What an input says of one possible cause.
enum class Support : std::uint8_t {
  Open,      ///< nothing for or against it
  Supports,  ///< at least one fact tells this cause from the others
  Against,   ///< a fact speaks against it
};

constexpr std::string_view name(Support s) {
  return s == Support::Supports ? "supported" : s == Support::Against ? "unlikely" : "open";
}

/// The answer of a cause's predicate. `support` is what the predicate concludes; evidence may
/// stand on both sides.
struct Judged {
  Support support = Support::Open;
  std::vector<Evidence> supporting{};
  std::vector<Evidence> against{};
  /// Whose fault it is where that is another than the line's speaker: "rank 3", "np-c". Else empty.
  std::string who{};
};

/// A possible cause of an error, in the order in which to look.
struct CauseRow {
  std::string_view id;
  Layer layer = Layer::Unknown;
  std::string_view what;   ///< a sentence
  std::string_view check;  ///< what to do: an order, with a command where there is one
  /// Null: an input never tells; the cause stays Open.
  Judged (*judge)(const ErrorCase&, const ErrorGroup&) = nullptr;
  /// It may be named though another error came first: it is the same failure, or the line says so.
  bool evenIfLater = false;
};

/// What an error is not, though it looks like it.
struct NotRow {
  std::string_view id;    ///< "fabric", "nccl-bug"
  std::string_view what;  ///< a sentence: why not
  /// Null: always so.
  bool (*holds)(const ErrorCase&, const ErrorGroup&) = nullptr;
};

/// One row: a kind of error.
struct ErrorRule {
  std::string_view id;  ///< of Event::id; with '*' at its end: all that begin so ("xid-*")
  Depth depth = Depth::Outcome;
  std::string_view title;  ///< a few words
  std::string_view means;  ///< one or two sentences: what the layer that speaks gave up on
  /// What is looked for, as printed, one per wording; %s, %d, %x stand for what varies.
  std::span<const std::string_view> wordings;
  std::span<const CauseRow> causes;  ///< in order of suspicion, at least one
  std::span<const NotRow> nots{};
  /// Further orders that hold whatever the cause, most telling first; may be empty.
  std::span<const std::string_view> next{};
  std::string_view source;  ///< an NCCL file and releases, NVIDIA's Xid catalogue, a PyTorch file
};

/// The whole table.
std::span<const ErrorRule> errorRules();

/// The row for an event's id: the exact one, else the longest family ("xid-*"); null: none.
const ErrorRule* errorRuleOf(std::string_view eventId);

// error_rules_*.cc, joined by error_rules.cc
std::span<const ErrorRule> gpuErrorRules() noexcept;         // Xid, SXid, CUDA, duplicate GPU
std::span<const ErrorRule> processErrorRules() noexcept;     // ends of processes
std::span<const ErrorRule> ncclCodeErrorRules() noexcept;    // nccl-error-1 ... 8
std::span<const ErrorRule> waitErrorRules() noexcept;        // watchdog, stall, init hang, harness
std::span<const ErrorRule> completionErrorRules() noexcept;  // completions and async events
std::span<const ErrorRule> verbsErrorRules() noexcept;       // failed verbs calls
std::span<const ErrorRule> bootstrapErrorRules() noexcept;   // bootstrap, sockets, proxy, versions
std::span<const ErrorRule> pluginErrorRules() noexcept;      // OFI, TCPX, UCX, plugin loading

/// Failures that no single line tells, put together from the whole input: "init-hang-after-crash",
/// "silent-stall" where a log simply ends, "harness-result-differs". error_made.cc.
std::vector<Event> madeEvents(const struct JobFacts& job);

}  // namespace rdmaguard::engine
