// Questions that several rows about connections share: how many nodes report an error at once,
// what a setting says, whether memory is short. Pure, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "verifier/engine/error_case.h"

namespace rdmaguard::engine {

/// Nodes whose first report of an error lies this close together, in seconds, fail together. A
/// chosen default, the one that verify's onset-several-nodes has.
inline constexpr double kTogetherS = 5;
/// So many nodes together are more than the two ends of one connection.
inline constexpr std::size_t kSeveralNodes = 3;

/// The line alone tells this cause: Supports, citing at most four of the group's lines.
Judged linesTell(const ErrorCase& c, const ErrorGroup& g);
/// Supports, citing `e`; Open where it is null.
Judged eventTells(const ErrorCase& c, const Event* e);
/// Supports, citing `s`; Open where it is null.
Judged settingTells(const ErrorCase& c, const Setting* s);
/// Supports with the evidence of verify's finding `id`; Open where verify has no such finding.
Judged findingTells(const ErrorCase& c, std::string_view id);
/// Supports where the errno text or peer in a line of the group holds `part`; else Open.
Judged detailTells(const ErrorCase& c, const ErrorGroup& g, std::string_view part);
/// A line of the group holds `part`.
bool anyTextHas(const ErrorGroup& g, std::string_view part);

/// How many hosts report the error first within kTogetherS of its first report. Stamps as they
/// are; lines without one do not count.
std::size_t nodesTogether(const ErrorGroup& g);
/// Supports where kSeveralNodes hosts or more report it together; else Open.
Judged severalNodesAtOnce(const ErrorCase& c, const ErrorGroup& g);
bool onSeveralNodesAtOnce(const ErrorCase& c, const ErrorGroup& g);

/// The value of a variable as a number; empty: not set, or none.
std::optional<long> numberOf(const Setting* s);
/// A port of link layer RoCE stands in a device list of the input.
bool anyRoce(const ErrorCase& c);
/// Channels of the input use GPUDirect RDMA: the first such line, else null.
const Place* gdrChannel(const ErrorCase& c);

/// Locked memory: Supports where a limit is known and is small, or verify says that it binds;
/// Against where it is known to be unlimited; else Open.
Judged memlockTooSmall(const ErrorCase& c, const ErrorGroup& g);
/// The first failure is another one, and is no matter of the network: a crash, a GPU fault.
bool followsEndOfProcess(const ErrorCase& c, const ErrorGroup& g);
/// An interface of a local bridge, which every host has with the same address: virbr0, docker0.
bool isLocalBridge(std::string_view interface);
/// Supports where the bootstrap of a process stands on a local bridge, or one address serves
/// several hosts; else Open.
Judged bootstrapNotRoutable(const ErrorCase& c, const ErrorGroup& g);

}  // namespace rdmaguard::engine
