// Messages of NCCL's network code: "NET/IB : ...", "NET/Plugin : ...", "GPU Direct RDMA ...".
// Used by log_message.cc alone. One thread.
#pragma once

#include <string_view>

#include "verifier/readers/log_message.h"

namespace rdmaguard::readers::nccl_log {

/// `rest` follows "NET/".
Said netMessage(Processes& processes, Thread& t, std::string_view rest, Place at);

/// `rest` follows "NET/Plugin :" or the name of the library that did not open.
Said pluginMessage(Processes& processes, Thread& t, std::string_view rest, Place at);

/// `rest` follows "GPU Direct RDMA "; `net` is the X of "NET/X : ", empty where none stood.
Said gdrMessage(ProcessLog& log, std::string_view net, std::string_view rest, Place at);

void keepPluginFailure(ProcessLog& log, engine::PluginFailure::Kind kind, std::string_view plugin,
                       std::string_view reason, Place at);

}  // namespace rdmaguard::readers::nccl_log
