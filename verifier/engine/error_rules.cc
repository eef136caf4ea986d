// See error_rules.h: the rows of all subjects in one table.
#include "verifier/engine/error_rules.h"

#include <array>

namespace rdmaguard::engine {
namespace {

bool isFamily(std::string_view id) {
  return id.ends_with('*');
}

}  // namespace

std::string_view name(Layer layer) noexcept {
  switch (layer) {
    case Layer::Unknown:
      return "unknown";
    case Layer::Application:
      return "application";
    case Layer::JobLayout:
      return "job layout";
    case Layer::Storage:
      return "storage";
    case Layer::Gpu:
      return "gpu";
    case Layer::Container:
      return "container";
    case Layer::Software:
      return "nccl setup";
    case Layer::Node:
      return "node";
    case Layer::Link:
      return "hca or its link";
    case Layer::Fabric:
      return "fabric";
  }
  return "unknown";
}

std::span<const ErrorRule> errorRules() {
  static const std::vector<ErrorRule> all = [] {
    std::vector<ErrorRule> rows;
    for (const auto part :
         {gpuErrorRules(), processErrorRules(), ncclCodeErrorRules(), waitErrorRules(),
          completionErrorRules(), verbsErrorRules(), bootstrapErrorRules(), pluginErrorRules()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

const ErrorRule* errorRuleOf(std::string_view eventId) {
  const ErrorRule* family = nullptr;
  for (const ErrorRule& row : errorRules()) {
    if (row.id == eventId) return &row;
    if (!isFamily(row.id) || !eventId.starts_with(row.id.substr(0, row.id.size() - 1))) continue;
    if (!family || family->id.size() < row.id.size()) family = &row;
  }
  return family;
}

}  // namespace rdmaguard::engine
