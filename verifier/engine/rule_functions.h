// The predicates behind the rows of rules.cc, grouped as the files are. Each looks at one
// condition and returns a finding when it holds; a fact that is not known makes none.
// Called by the table only. Pure, any thread.
#pragma once

#include <optional>
#include <span>

#include "verifier/engine/case.h"

namespace rdmaguard::engine {

using MaybeFinding = std::optional<Finding>;

/// The setting that switches GPUDirect RDMA off, or null: NCCL_NET_GDR_LEVEL at LOC or 0.
const Setting* gdrSwitchedOff(std::span<const Setting> settings);

// rules_choice.cc: what NCCL was told to use.
MaybeFinding netForcedSocket(const Case& c);
MaybeFinding netForcedOther(const Case& c);
MaybeFinding netChosenByProgram(const Case& c);
MaybeFinding ibDisabled(const Case& c);
MaybeFinding tcpPlugin(const Case& c);
MaybeFinding providerIsTcp(const Case& c);
MaybeFinding pluginNotLoaded(const Case& c);

// rules_device.cc: whether verbs can reach a device.
MaybeFinding libibverbsMissing(const Case& c);
MaybeFinding noRdmaDevice(const Case& c);
MaybeFinding verbsModuleMissing(const Case& c);
MaybeFinding uverbsNodeMissing(const Case& c);
MaybeFinding deviceOpenFailed(const Case& c);
MaybeFinding providerMissing(const Case& c);
MaybeFinding efaNeedsPlugin(const Case& c);
MaybeFinding linkLayerUnsupported(const Case& c);

// rules_port.cc: whether NCCL would take a port.
MaybeFinding portNotActive(const Case& c);
MaybeFinding hcaFilterMatchesNothing(const Case& c);
MaybeFinding hcaFilterPortNotActive(const Case& c);
MaybeFinding somePortDown(const Case& c);
MaybeFinding somePortDisabled(const Case& c);
MaybeFinding somePortPolling(const Case& c);
MaybeFinding somePortInitializing(const Case& c);

// rules_listing.cc: InfiniBand and Ethernet in one listing (Case::listing).
MaybeFinding mixedInListing(const Case& c);

// rules_quality.cc: engaged, but less than the node allows.
MaybeFinding socketIfnameMatchesNothing(const Case& c);
MaybeFinding memlockLimited(const Case& c);
MaybeFinding softwareRdma(const Case& c);
MaybeFinding fewerHcas(const Case& c);
MaybeFinding mixedLinkLayers(const Case& c);
MaybeFinding slowNic(const Case& c);
MaybeFinding hcaPrefixMatchesMore(const Case& c);
MaybeFinding ibDisableNotANumber(const Case& c);

// rules_gdr.cc: why GPU memory is staged through the host.
MaybeFinding gdrDisabledByEnv(const Case& c);
MaybeFinding gdrNoPeermemOrDmabuf(const Case& c);
MaybeFinding gdrCapableNotUsed(const Case& c);

// rules_log_process.cc: the same conditions as a process's log lines show them. Called by the
// functions above when Case::process is set.
MaybeFinding netForcedSocketInLog(const Case& c);
MaybeFinding providerIsTcpInLog(const Case& c);
MaybeFinding pluginFailedInLog(const Case& c);
MaybeFinding libibverbsMissingInLog(const Case& c);
MaybeFinding noDeviceInLog(const Case& c);
MaybeFinding openFailedInLog(const Case& c);
MaybeFinding hcaFilterInLog(const Case& c);
MaybeFinding slowNicInLog(const Case& c);
MaybeFinding gdrNoWayInLog(const Case& c);
MaybeFinding gdrNotUsedInLog(const Case& c);

// rules_log.cc: what only a log shows, of one process and of ranks beside each other.
MaybeFinding gdrDistance(const Case& c);
MaybeFinding gdrPartial(const Case& c);
MaybeFinding ranksDisagree(const Case& c);
MaybeFinding unequalHcaSets(const Case& c);
MaybeFinding wrongInterface(const Case& c);
MaybeFinding versionsDiffer(const Case& c);
MaybeFinding setupFailed(const Case& c);
MaybeFinding selectedNotConnected(const Case& c);
MaybeFinding linkLayerNotShown(const Case& c);
MaybeFinding externalPlugin(const Case& c);
MaybeFinding externalPluginFile(const Case& c);

}  // namespace rdmaguard::engine
