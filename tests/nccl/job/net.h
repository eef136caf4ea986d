// NCCL's own transports as the command drives them too, under the job's names.
#pragma once

#include "verifier/nccl/net.h"

namespace rdmaguard::job {

using nccl::Device;
using nccl::ListenHandle;
using nccl::Net;
using nccl::netAt;

}  // namespace rdmaguard::job
