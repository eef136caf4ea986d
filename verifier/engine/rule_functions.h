// The predicates behind the rows of rules.cc, grouped as the files are. Each looks at one
// condition and returns a finding when it holds; a fact that is not known makes none.
// Called by the table only. Pure, any thread.
#pragma once

#include <optional>

#include "verifier/engine/case.h"

namespace rdmaguard::engine {

using MaybeFinding = std::optional<Finding>;

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

}  // namespace rdmaguard::engine
