// The rules that look at variables and at what a shell shows of a node: see rule_inputs.h.
#include "rule_inputs.h"

namespace rdmaguard::verify {
namespace {

// Two RoCE ports with their GID tables.
constexpr std::string_view kGids =
    R"(DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
mlx5_0	1	0	fe80:0000:0000:0000:0e42:a1ff:fe2e:1e7c			v1	eth2
mlx5_0	1	1	fe80:0000:0000:0000:0e42:a1ff:fe2e:1e7c			v2	eth2
mlx5_0	1	2	0000:0000:0000:0000:0000:ffff:c000:0205	192.0.2.5	v1	eth2
mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:c000:0205	192.0.2.5	v2	eth2
mlx5_1	1	0	fe80:0000:0000:0000:0e42:a1ff:fe2e:1e7d			v1	eth3
mlx5_1	1	1	fe80:0000:0000:0000:0e42:a1ff:fe2e:1e7d			v2	eth3
mlx5_1	1	2	0000:0000:0000:0000:0000:ffff:c000:0206	192.0.2.6	v1	eth3
mlx5_1	1	3	0000:0000:0000:0000:0000:ffff:c000:0206	192.0.2.6	v2	eth3
n_gids_found=8
)";

// A GPU node's modules, without a peer-memory module.
constexpr std::string_view kModules = R"($ lsmod
Module                  Size  Used by
nvidia_uvm           4251648  16
nvidia_drm             90112  0
nvidia_modeset       1531904  1 nvidia_drm
nvidia              62529536  812 nvidia_uvm,nvidia_modeset
mlx5_ib               434176  0
ib_uverbs             139264  2 mlx5_ib,rdma_ucm
rdma_ucm               32768  0
rdma_cm               122880  1 rdma_ucm
ib_core               409600  4 rdma_cm,rdma_ucm,ib_uverbs,mlx5_ib
mlx5_core            1654784  1 mlx5_ib
xt_conntrack           16384  12
overlay               151552  91
br_netfilter           32768  0
$ uptime
)";

std::string without(std::string_view text, std::string_view line) {
  const auto at = text.find(line);
  if (at == std::string_view::npos) return {};
  const auto end = text.find('\n', at) + 1;
  return std::string(text.substr(0, at)) + std::string(text.substr(end));
}

}  // namespace

std::vector<RuleInput> envRuleInputs() {
  const std::string gids(kGids), modules(kModules);
  const std::string loaded =
      with(modules, {{"nvidia_drm ", "nvidia_peermem         16384  0\nnvidia_drm "}});
  const std::string noDriver = without(modules, "mlx5_ib ");
  return {
      {"ib-retry-cnt-too-high", "NCCL_IB_HCA=ibp\nNCCL_IB_RETRY_CNT=16\n",
       "NCCL_IB_HCA=ibp\nNCCL_IB_RETRY_CNT=7\n"},
      {"ib-timeout-out-of-range", "NCCL_IB_HCA=ibp\nNCCL_IB_TIMEOUT=32\n",
       "NCCL_IB_HCA=ibp\nNCCL_IB_TIMEOUT=31\n"},
      {"nccl-variable-misspelt", "NCCL_IB_HAC=mlx5\nNCCL_DEBUG=INFO\n",
       "NCCL_IB_HCA=mlx5\nNCCL_OFI_HAC=1\nNCCL_DEBUG=INFO\n"},
      {"nccl-variable-not-read", "NCCL version 2.29.7+cuda13.0\n$ env\nNCCL_TREE_THRESHOLD=0\n",
       "NCCL version 2.4.8+cuda10.1\n$ env\nNCCL_TREE_THRESHOLD=0\n"},
      {"setting-not-a-number", "NCCL_DEBUG=INFO\nNCCL_BUFFSIZE=8M\n",
       "NCCL_DEBUG=INFO\nNCCL_BUFFSIZE=8388608\nNCCL_P2P_DISABLE=false\n"},
      {"setting-quoted", "NCCL_IB_HCA=\"mlx5_0,mlx5_1\"\n",
       "declare -x NCCL_IB_HCA=\"mlx5_0,mlx5_1\"\n"},
      {"conf-blank-before-equals", "# rails\nNCCL_IB_HCA = mlx5_0\n",
       "# rails\nNCCL_IB_HCA=mlx5_0\n"},
      {"gid-index-empty", gids + "NCCL_IB_GID_INDEX=5\n", gids + "NCCL_IB_GID_INDEX=3\n"},
      {"gid-index-roce-v1", gids + "NCCL_IB_GID_INDEX=2\n", gids + "NCCL_IB_GID_INDEX=3\n"},
      {"rdma-modules-missing", noDriver, modules},
      {"peermem-not-loaded", modules, loaded},
      {"rdma-core-old-for-ucx",
       "UCX_TLS=rc_mlx5,ud_mlx5,cuda_copy\nii  libibverbs1:amd64  50.0-2  amd64  verbs library\n",
       "UCX_TLS=rc_mlx5,ud_mlx5,cuda_copy\nii  libibverbs1:amd64  56.1-1  amd64  verbs library\n"},
  };
}

}  // namespace rdmaguard::verify
