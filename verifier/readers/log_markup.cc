// See log_markup.h.
#include "verifier/readers/log_markup.h"

#include "verifier/readers/log_text.h"

namespace rdmaguard::readers::nccl_log {

std::string_view withoutRepeated(std::string_view text, bool& repeated) {
  if (!text.ends_with(']')) return text;
  const auto at = text.rfind(" [repeated ");
  if (at == std::string_view::npos || text.find("x across cluster]", at) == std::string_view::npos)
    return text;
  repeated = true;
  return withoutBlanks(text.substr(0, at));
}

bool withoutLinks(std::string_view line, std::string& out) {
  bool any = false;
  out.clear();
  std::size_t from = 0;
  for (auto at = line.find("](http"); at != std::string_view::npos; at = line.find("](http", at)) {
    const auto close = line.find(')', at);
    const auto open = line.substr(from, at - from).rfind('[');
    if (close == std::string_view::npos || open == std::string_view::npos) {
      at += 6;
      continue;
    }
    out.append(line.substr(from, open));
    out.append(line.substr(from + open + 1, at - from - open - 1));
    from = at = close + 1;
    any = true;
  }
  if (any) out.append(line.substr(from));
  return any;
}

std::string_view withoutDivider(std::string_view text) {
  text = withoutBlanks(text);
  while (text.ends_with(" |")) text = withoutBlanks(text.substr(0, text.size() - 2));
  return text;
}

}  // namespace rdmaguard::readers::nccl_log
