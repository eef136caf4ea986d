// The network of one rank, from the lines of its process. Used by judge_log.cc. Pure.
#pragma once

#include <string>
#include <vector>

#include "verifier/engine/judge_log.h"

namespace rdmaguard::engine {

/// The kind a libfabric provider is of: "efa" is RDMA, "tcp;ofi_rxm" is not.
Standing providerStanding(std::string_view provider) noexcept;
/// "AWS Libfabric", "Libfabric", "libfabric": the OFI plugin, whose provider decides.
bool isOfi(std::string_view network) noexcept;

/// Decides the network of `comm` (null: of the process as a whole), without a link layer where
/// the process itself lists no device.
RankNet rankNet(const JobFacts& job, const ProcessLog& process, const CommLog* comm);

/// Link layer by the majority of `devices`; those that the channels of `comm` use count alone
/// where they are known. Transport::Unknown for an empty list.
Transport linkLayerOf(const std::vector<ListedDevice>& devices, const CommLog* comm);

/// Puts the link layer of `devices` to a rank on NCCL's IB transport or a plugin that lists HCAs.
void applyDevices(RankNet& rank, const std::vector<ListedDevice>& devices);

/// Fills `rank.gdr` from what the lines of the rank say of GPUDirect RDMA: its channels, else the
/// lines about HCAs and about pairs of GPU and HCA, else a setting that switches it off.
void applyGdr(RankNet& rank);

}  // namespace rdmaguard::engine
