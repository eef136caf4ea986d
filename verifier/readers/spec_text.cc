// See spec_text.h.
#include "verifier/readers/spec_text.h"

#include <algorithm>
#include <cstddef>

namespace rdmaguard::readers {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

bool isSeparator(std::string_view line) {
  return line == "---" || line.starts_with("--- ") || line.starts_with("---\t");
}

// A leading tab is a step of indentation: of two, as manifests have it.
std::string withoutTabs(std::string_view line, bool& tabs) {
  std::size_t n = 0;
  while (n < line.size() && line[n] == '\t') ++n;
  if (n == 0) return std::string(line);
  tabs = true;
  return std::string(2 * n, ' ') + std::string(line.substr(n));
}

std::size_t indentation(std::string_view line) {
  const auto first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

// Whether a template's action puts text in (and not only decides).
bool decides(std::string_view action) {
  action = trimmed(action);
  while (!action.empty() && (action.front() == '{' || action.front() == '%' ||
                             action.front() == '-' || action.front() == ' '))
    action.remove_prefix(1);
  for (const std::string_view word : {"/*", "#"})
    if (action.starts_with(word)) return false;
  return true;
}

// Replaces "{{ ... }}" and "{% ... %}" by a word, and "${NAME}" by "$NAME".
class Templates {
 public:
  explicit Templates(SpecText& document) : document_(&document) {}

  void reset() { inAction_ = false; }

  std::string line(std::string_view text, std::uint64_t number) {
    const std::string_view bare = trimmed(text);
    // An action that goes over several lines.
    if (inAction_) {
      inAction_ = bare.find("}}") == std::string_view::npos;
      return {};
    }
    if (onlyActions(bare)) {
      mark(number);
      if (decides(bare)) document_->opaque = true;
      return {};
    }
    if (bare.starts_with("{{") && bare.find("}}") == std::string_view::npos) {
      mark(number);
      inAction_ = true;
      if (decides(bare)) document_->opaque = true;
      return {};
    }
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t next = text.find_first_of("{$", at);
      if (next == std::string_view::npos) break;
      out += text.substr(at, next - at);
      at = next;
      const std::string_view rest = text.substr(at);
      const bool go = rest.starts_with("{{"), jinja = rest.starts_with("{%");
      if (go || jinja) {
        const std::size_t end = rest.find(go ? "}}" : "%}", 2);
        if (end != std::string_view::npos) {
          mark(number);
          out += kTemplateWord;
          at += end + 2;
          continue;
        }
      }
      if (rest.starts_with("${")) {
        const std::size_t end = rest.find('}');
        const std::string_view name =
            end == std::string_view::npos ? std::string_view() : rest.substr(2, end - 2);
        if (!name.empty() && name.find_first_of(" {\"'") == std::string_view::npos) {
          out += '$';
          out += name.substr(0, name.find_first_of(":-+=?"));
          at += end + 1;
          continue;
        }
      }
      out += text[at++];
    }
    out += text.substr(std::min(at, text.size()));
    return out;
  }

 private:
  // "{{- if .Values.a }}" alone, or several actions: nothing of YAML on the line.
  static bool onlyActions(std::string_view bare) {
    if (bare.empty()) return false;
    while (!bare.empty()) {
      const bool go = bare.starts_with("{{");
      if (!go && !bare.starts_with("{%") && !bare.starts_with("{#")) return false;
      const std::size_t end = bare.find(go ? "}}" : bare.starts_with("{%") ? "%}" : "#}");
      if (end == std::string_view::npos) return false;
      bare = trimmed(bare.substr(end + 2));
    }
    return true;
  }
  void mark(std::uint64_t number) {
    if (!document_->templated) document_->templateLine = number;
    document_->templated = true;
  }

  SpecText* document_;
  bool inAction_ = false;
};

}  // namespace

SpecTexts splitSpec(std::string_view region) {
  SpecTexts result;
  std::vector<std::string> lines;
  std::size_t common = std::string_view::npos;
  while (!region.empty()) {
    const auto end = region.find('\n');
    std::string_view line = region.substr(0, end);
    region.remove_prefix(end == std::string_view::npos ? region.size() : end + 1);
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    bool tabs = false;
    lines.push_back(withoutTabs(line, tabs));
    if (tabs && !result.tabs) {
      result.tabs = true;
      result.tabLine = lines.size() - 1;
    }
    const std::string_view bare = trimmed(lines.back());
    if (!bare.empty() && bare.front() != '#') common = std::min(common, indentation(lines.back()));
  }
  if (common == std::string_view::npos) common = 0;

  SpecText document;
  Templates templates(document);
  bool sawEnd = false;
  const auto finish = [&](std::uint64_t next) {
    result.documents.push_back(std::move(document));
    document = SpecText{};
    document.firstLine = next;
    templates.reset();
    sawEnd = false;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    line.remove_prefix(std::min(common, indentation(line)));
    if (isSeparator(line)) {
      // The document may begin on the line itself: "--- {kind: Pod}". "--- a/pod.yaml" is a diff's.
      const std::string_view behind = trimmed(line.substr(3));
      const bool begins =
          !behind.empty() && behind.front() != '#' &&
          (std::string_view("{[!&").find(behind.front()) != std::string_view::npos ||
           behind.ends_with(':') || behind.find(": ") != std::string_view::npos);
      finish(begins ? i : i + 1);
      document.separated = true;
      if (!begins) continue;
      line = behind;
    }
    const std::string_view bare = trimmed(line);
    if (bare == "..." || bare == "\xe2\x80\xa6" || bare == "# ..." || bare == "[...]") {
      // At a document's end it is YAML's own; anywhere else it stands for what was left out.
      sawEnd = bare == "...";
      if (document.blank || bare != "...") document.elided = document.elided || bare != "# ...";
      if (indentation(line) > 0 && bare != "# ...") document.elided = true;
      document.text += '\n';
      continue;
    }
    if (!bare.empty() && bare.front() != '#') {
      document.blank = false;
      if (sawEnd) document.elided = true;
      sawEnd = false;
    }
    document.text += templates.line(line, i);
    document.text += '\n';
  }
  finish(lines.size());
  return result;
}

}  // namespace rdmaguard::readers
