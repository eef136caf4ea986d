// See once_per_node.h. The topic is bound as a name in Linux's abstract socket
// namespace (unix(7)): atomic, no file to clean up, gone with the process.
#include "plugin/guard/once_per_node.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "plugin/report/descriptor.h"

namespace rdmaguard::guard {

bool firstOnNode(const std::string& topic) noexcept {
  const int fd = report::aboveStandard(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static constexpr char kPrefix[] = "rdmaguard.";
  char* name = address.sun_path + 1;  // a leading NUL makes the name abstract
  std::memcpy(name, kPrefix, sizeof(kPrefix) - 1);
  const std::size_t room = sizeof(address.sun_path) - 1 - (sizeof(kPrefix) - 1);
  const std::size_t length = std::min(room, topic.size());
  std::memcpy(name + sizeof(kPrefix) - 1, topic.data(), length);
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof(kPrefix) + length);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0)
    return true;  // kept open on purpose: the name is held until this process ends
  const bool taken = errno == EADDRINUSE;
  ::close(fd);
  return !taken;
}

}  // namespace rdmaguard::guard
