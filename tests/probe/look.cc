// Prints what the probe makes of this machine and of registering memory on it, for
// guest_test.sh: "device field value" lines, and the ids of what a user would be told.
#include <chrono>
#include <cstdio>
#include <string>

#include "verifier/engine/gid.h"
#include "verifier/engine/rules.h"
#include "verifier/probe/probe.h"

namespace {

void say(const std::string& device, const char* field, const std::string& value) {
  std::printf("%s %s %s\n", device.c_str(), field, value.c_str());
}

std::string words(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "unknown";
}

}  // namespace

int main() {
  using namespace rdmaguard;
  engine::NodeFacts node = probe::readWholeNode();
  probe::tryRegistration(node, std::chrono::seconds(20));
  for (const engine::RdmaDevice& d : node.devices) {
    for (const engine::RdmaPort& p : d.ports) {
      say(d.name, "state", std::string(name(p.state)));
      say(d.name, "counters", p.countersKnown ? "known" : "unknown");
      for (const engine::Gid& g : p.gids)
        say(d.name, "gid", std::to_string(g.index) + " " + gidText(g) + " " + g.type);
    }
    if (!d.registration) continue;
    const engine::RegistrationTest& t = *d.registration;
    say(d.name, "listed", t.listed ? "yes" : "no");
    say(d.name, "open", words(t.openErrno));
    say(d.name, "reg", words(t.regErrno));
    say(d.name, "relaxed", words(t.relaxedErrno));
    say(d.name, "dmabuf", t.dmabuf() ? (*t.dmabuf() ? "yes" : "no") : "unknown");
    say(d.name, "registered", std::to_string(t.registered >> 20U));
  }
  if (!node.registration.failure.empty()) say("-", "failure", node.registration.failure);
  engine::Selection before;
  before.nNodes = 2;
  const engine::Verdict v = engine::judge(node, before, {});
  for (const auto* list : {&v.missing, &v.degraded, &v.notes})
    for (const engine::Finding& f : *list) say("-", "finding", f.ruleId);
  return 0;
}
