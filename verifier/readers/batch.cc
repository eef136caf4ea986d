// See batch.h.
#include "verifier/readers/batch.h"

#include <algorithm>
#include <array>
#include <exception>

#include "verifier/readers/batch_shell.h"
#include "verifier/readers/spec.h"

namespace rdmaguard::readers {
namespace {

using engine::BatchScript;

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

bool startsWithWord(std::string_view line, std::string_view word) {
  return line.starts_with(word) &&
         (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == '\t');
}

constexpr std::array kLaunchers{"srun",   "mpirun", "mpiexec",   "torchrun",  "sbatch",
                                "salloc", "enroot", "deepspeed", "horovodrun"};

// Words that a line of a script begins with and a line of a log does not.
bool beginsScript(std::string_view line) {
  if (line.starts_with("#!")) return line.find("sh") != std::string_view::npos;
  if (line.starts_with("#SBATCH") || line.starts_with("#PBS ") || line.starts_with("#BSUB "))
    return true;
  if (line.starts_with("$ ")) line = trimmed(line.substr(2));
  if (startsWithWord(line, "export")) {
    std::string_view name, value;
    return splitAssignment(trimmed(line.substr(6)), name, value);
  }
  for (const char* word : kLaunchers)
    if (startsWithWord(line, word)) return line.find_first_of("-/.") != std::string_view::npos;
  return line.find("<<") != std::string_view::npos &&
         (startsWithWord(line, "cat") || startsWithWord(line, "kubectl") ||
          startsWithWord(line, "tee"));
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t indentation(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? 0 : first;
}

// A script out of a code block, each line moved to the right: moved back, so that here-documents
// end. Lines keep their numbers.
std::string movedBack(std::string_view text) {
  const std::size_t by = indentation(text.substr(0, text.find('\n')));
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += line.substr(std::min({by, line.size(), indentation(line)}));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

// What programs print: "[rank0]: ...", "0: ...", "[2026-01-01 ...]", "slurmstepd: error: ...",
// "Traceback ...:". A script has no such line outside a here-document.
bool looksPrinted(std::string_view line) {
  if (line.empty()) return false;
  if (line[0] == '[' && line.size() > 1 && line[1] != ' ' && line[1] != '[') return true;
  if (line[0] == '[' && line.size() > 2 && line[1] == ' ' &&
      isDigit(line.substr(1).find_first_not_of(' ') == std::string_view::npos
                  ? ' '
                  : line[1 + line.substr(1).find_first_not_of(' ')]))
    return true;
  std::size_t n = 0;
  while (n < line.size() && isDigit(line[n])) ++n;
  if (n > 0 && n < line.size() && (line[n] == ':' || line[n] == '-' || line[n] == ' ')) return true;
  const auto colon = line.find(": ");
  // `: "${NAME:=default}"` begins with the command that does nothing.
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view before = line.substr(0, colon);
  if (before.find_first_of(" \t\"'$=<>|;&(){}") != std::string_view::npos) return false;
  // A key of a manifest within a here-document may be a long one; a speaker is a program or host.
  return claimSpec(line, false) != Claim::Starts && claimSpec(line, true) == Claim::No;
}

// "--nodes=2", "--nodes 2", "-N2", "-N 2": several options share a line.
void readDirective(std::string_view line, Place at, BatchScript& script) {
  static constexpr std::array<std::pair<char, std::string_view>, 10> kShort{{{'N', "nodes"},
                                                                             {'n', "ntasks"},
                                                                             {'J', "job-name"},
                                                                             {'p', "partition"},
                                                                             {'G', "gpus"},
                                                                             {'t', "time"},
                                                                             {'A', "account"},
                                                                             {'c', "cpus-per-task"},
                                                                             {'w', "nodelist"},
                                                                             {'C', "constraint"}}};
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char c : line) {
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (open || !word.empty()) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else if (c == '#' && word.empty()) {
      break;
    } else {
      word += c;
    }
  }
  if (open || !word.empty()) words.push_back(std::move(word));
  const auto add = [&](std::string_view name, std::string_view value) {
    if (script.options.size() < engine::kMaxSpecItems)
      script.options.push_back({std::string(name), std::string(value), at});
    if (name == "export") readExportList(value, at, script.shell);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view w = words[i];
    const bool more = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (w.starts_with("--")) {
      const auto equals = w.find('=');
      if (equals != std::string_view::npos)
        add(w.substr(2, equals - 2), w.substr(equals + 1));
      else
        add(w.substr(2), more ? std::string_view(words[++i]) : std::string_view());
    } else if (w.size() >= 2 && w[0] == '-') {
      const auto known = std::find_if(kShort.begin(), kShort.end(),
                                      [&](const auto& s) { return s.first == w[1]; });
      if (known == kShort.end()) continue;
      std::string_view value = w.substr(2);
      if (value.starts_with('=')) value.remove_prefix(1);
      if (value.empty() && more) value = words[++i];
      add(known->second, value);
    }
  }
}

bool holdsManifest(std::string_view text) {
  return text.find("apiVersion:") != std::string_view::npos ||
         text.find("\"apiVersion\"") != std::string_view::npos;
}

}  // namespace

Claim claimBatch(std::string_view line, bool inside) noexcept {
  const std::string_view bare = trimmed(line);
  if (bare.empty()) return inside ? Claim::Continues : Claim::No;
  // Indented, it may be a line of a manifest's block.
  const bool indented = line.front() == ' ' || line.front() == '\t';
  if (!inside) return !indented && beginsScript(bare) ? Claim::Starts : Claim::No;
  if (indented) return Claim::Continues;
  if (bare.starts_with("#!")) return Claim::Starts;
  return looksPrinted(bare) ? Claim::No : Claim::Continues;
}

void readBatch(std::string_view given, Place first, bool cut, JobFacts& out) noexcept {
  try {
    const std::string moved = movedBack(given);
    const std::string_view text = moved;
    BatchScript script;
    script.at = first;
    Place at = first;
    std::string_view rest = text;
    bool commands = false;
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      const std::string_view line = trimmed(rest.substr(0, end));
      if (line.starts_with("#SBATCH")) {
        // sbatch reads its options up to the first command.
        if (!commands) {
          script.slurm = true;
          readDirective(line.substr(7), at, script);
        }
      } else if (!line.empty() && line.front() != '#') {
        commands = true;
        if (startsWithWord(line, "srun") || startsWithWord(line, "sbatch") ||
            startsWithWord(line, "salloc"))
          script.slurm = true;
      }
      ++at.line;
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    std::vector<HereDocument> bodies;
    readShellScript(text, first, script.shell, &bodies);
    out.specs.any = true;
    bool manifest = false;
    for (const HereDocument& body : bodies)
      if (holdsManifest(body.text)) {
        readSpec(body.text, body.first, cut, out);
        manifest = true;
      }
    // A script whose only purpose is to hand a manifest to kubectl sets nothing for the job.
    static_cast<void>(manifest);
    if (out.specs.scripts.size() < engine::kMaxSpecDocuments)
      out.specs.scripts.push_back(std::move(script));
  } catch (const std::exception&) {
    out.specs.any = true;
  }
}

}  // namespace rdmaguard::readers
