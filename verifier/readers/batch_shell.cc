// See batch_shell.h.
#include "verifier/readers/batch_shell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace rdmaguard::readers {
namespace {

using engine::Place;
using engine::SettingOrigin;
using engine::ShellFacts;
using engine::SpecSetting;

constexpr int kMaxNesting = 4;
constexpr std::size_t kMaxWord = std::size_t{1} << 20;

bool isNameByte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool oneOf(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view baseName(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Programs that start the job's processes, or are them.
bool isLauncher(std::string_view word) {
  const std::string_view name = baseName(word);
  return oneOf(name, {"mpirun", "mpiexec", "mpiexec.hydra", "srun", "torchrun", "deepspeed",
                      "accelerate", "horovodrun", "prun", "orterun", "jsrun", "aprun"}) ||
         name.starts_with("python") || name.ends_with("_perf");
}

std::optional<long> number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Goes over the words of one script and keeps what they set.
class Statements {
 public:
  explicit Statements(ShellFacts& out, int nesting) : out_(out), nesting_(nesting) {}

  // `expands`: the word holds an expansion, so that its text is not its value.
  void word(const std::string& text, Place at, bool block, bool expands) {
    if (takesValue(text, at, expands)) return;
    switch (mode_) {
      case Mode::Start:
        start(text, at, expands);
        break;
      case Mode::Export:
        exported(text, at, expands);
        break;
      case Mode::Unset:
        drop(text);
        break;
      case Mode::Arguments:
        argument(text, at, block, expands);
        break;
    }
  }

  bool takesScript() const { return pending_ == "-c"; }

  void end() {
    // NAME=value alone sets a variable of the shell: it counts once it is exported.
    if (mode_ == Mode::Start) {
      for (SpecSetting& s : prefix_) {
        if (isExported(s.name))
          add(std::move(s));
        else
          keepShellVariable(std::move(s));
      }
    }
    prefix_.clear();
    mode_ = Mode::Start;
    pending_.clear();
    previous_.clear();
    command_.clear();
  }

 private:
  enum class Mode : std::uint8_t { Start, Export, Unset, Arguments };

  bool takesValue(const std::string& text, Place at, bool expands) {
    if (pending_.empty()) return false;
    std::string option;
    option.swap(pending_);
    if (option == "-x") {
      forwarded(text, at, expands);
    } else if (option == "-genv") {
      std::string_view name, value;
      if (splitAssignment(text, name, value))
        add(name, value, !expands, SettingOrigin::Launcher, at);
      else
        genvName_ = text;
      if (!genvName_.empty()) pending_ = "-genv value";
    } else if (option == "-genv value") {
      add(genvName_, text, !expands, SettingOrigin::Launcher, at);
      genvName_.clear();
    } else if (option == "--export") {
      readExportList(text, at, out_);
    } else if (option == "--env") {
      assignments(text, at, expands);
    } else if (option == "nodes") {
      nodes(text, at);
    } else if (option == "-c") {
      script(text, at, blockValue_);
    }
    return true;
  }

  void start(const std::string& text, Place at, bool expands) {
    std::string_view name, value;
    if (splitAssignment(text, name, value)) {
      prefix_.push_back(make(name, value, !expands, SettingOrigin::Command, at));
      return;
    }
    if (oneOf(text, {"export", "declare", "typeset", "setenv"})) {
      mode_ = Mode::Export;
      cshell_ = text == "setenv";
      return;
    }
    if (text == "unset") {
      mode_ = Mode::Unset;
      return;
    }
    // Words that another command follows.
    if (oneOf(text, {"then", "do", "else", "{", "(", "!", "if", "while", "until", "time", "exec",
                     "nohup", "sudo", "command", "env", "stdbuf"}))
      return;
    for (SpecSetting& s : prefix_) add(std::move(s));
    prefix_.clear();
    if (oneOf(text, {"source", "."})) {
      if (!out_.sourcesOther) out_.sourcesOther = at;
    }
    mode_ = Mode::Arguments;
    command_ = std::string(baseName(text));
    if (isLauncher(text) && !out_.launches) {
      out_.launches = true;
      out_.launchAt = at;
    }
    previous_ = text;
  }

  void exported(const std::string& text, Place at, bool expands) {
    std::string_view name, value;
    if (text.starts_with('-')) return;
    if (cshell_) {
      if (cshellName_.empty()) {
        cshellName_ = text;
      } else {
        add(cshellName_, text, !expands, SettingOrigin::Command, at);
        cshellName_.clear();
      }
      return;
    }
    if (splitAssignment(text, name, value)) {
      add(name, value, !expands, SettingOrigin::Command, at);
      return;
    }
    if (exportedNames_.size() < engine::kMaxSpecItems) exportedNames_.push_back(text);
    for (const SpecSetting& s : shellVariables_)
      if (s.name == text) add(s);
  }

  void argument(const std::string& text, Place at, bool block, bool expands) {
    const std::string previous = std::move(previous_);
    previous_ = text;
    if (isLauncher(text) && !out_.launches) {
      out_.launches = true;
      out_.launchAt = at;
    }
    if (oneOf(command_, {"apt-get", "apt", "yum", "dnf", "microdnf", "apk", "zypper", "conda"}) &&
        (text.starts_with("libibverbs") || text.starts_with("ibverbs") ||
         text.starts_with("rdma-core") || text.starts_with("librdmacm")) &&
        !out_.installsVerbs)
      out_.installsVerbs = at;
    if (text == "-x") {
      pending_ = "-x";
      return;
    }
    if (oneOf(text, {"-genv", "-env"})) {
      pending_ = "-genv";
      return;
    }
    if (oneOf(text, {"--export", "--env", "-e"})) {
      // -e is also a size of nccl-tests: only an assignment behind it counts.
      pending_ = text == "--export" ? "--export" : "--env";
      return;
    }
    if (text.starts_with("--export=")) {
      readExportList(std::string_view(text).substr(9), at, out_);
      return;
    }
    if (text.starts_with("--env=")) {
      assignments(std::string_view(text).substr(6), at, expands);
      return;
    }
    if (text.size() >= 2 && text[0] == '-' && text[1] != '-' && text.ends_with('c') &&
        oneOf(baseName(previous), {"bash", "sh", "zsh", "dash", "ash", "ksh", "-l", "-e", "-x"})) {
      pending_ = "-c";
      blockValue_ = block;
      return;
    }
    if (text == "--standalone") {
      out_.standalone = true;
      if (!out_.nodesAt) out_.nodesAt = at;
      return;
    }
    for (const std::string_view option : {"--nnodes", "--nodes", "--num_nodes", "--num-nodes",
                                          "--num_machines", "--trainer.num_nodes"}) {
      if (!text.starts_with(option)) continue;
      if (text.size() == option.size()) pending_ = "nodes";
      if (text.size() > option.size() && text[option.size()] == '=')
        nodes(std::string_view(text).substr(option.size() + 1), at);
      return;
    }
    if (command_ == "srun" && text.starts_with("-N")) {
      if (text.size() == 2)
        pending_ = "nodes";
      else
        nodes(std::string_view(text).substr(2), at);
      return;
    }
    // "env A=b program" behind a launcher: "srun env A=b ...", "mpirun ... env A=b ...".
    std::string_view name, value;
    if ((previous == "env" || previousWasAssignment_) && splitAssignment(text, name, value)) {
      add(name, value, !expands, SettingOrigin::Command, at);
      previousWasAssignment_ = true;
      return;
    }
    previousWasAssignment_ = false;
  }

  void script(const std::string& text, Place at, bool block);

  void forwarded(const std::string& text, Place at, bool expands) {
    std::string_view name, value;
    if (splitAssignment(text, name, value)) {
      add(name, value, !expands, SettingOrigin::Launcher, at);
      return;
    }
    // "-x NAME" hands on what the launcher itself has.
    const auto has = [&](const SpecSetting& s) { return s.name == text; };
    if (!std::any_of(out_.settings.begin(), out_.settings.end(), has) &&
        std::all_of(text.begin(), text.end(), isNameByte) && !text.empty())
      add(text, "", false, SettingOrigin::Launcher, at);
  }

  void assignments(std::string_view list, Place at, bool expands) {
    std::string_view name, value;
    if (splitAssignment(list, name, value)) add(name, value, !expands, SettingOrigin::Launcher, at);
  }

  void nodes(std::string_view text, Place at) {
    const auto range = text.find_first_of(":-");
    const auto n = number(text.substr(0, range));
    const auto most = range == std::string_view::npos ? n : number(text.substr(range + 1));
    if (!n || !most) return;
    out_.nodes = std::max({out_.nodes.value_or(0), *n, *most});
    out_.nodesAt = at;
  }

  void drop(std::string_view name) {
    std::erase_if(out_.settings, [&](const SpecSetting& s) { return s.name == name; });
  }

  static SpecSetting make(std::string_view name, std::string_view value, bool known,
                          SettingOrigin origin, Place at) {
    SpecSetting s;
    s.name = name;
    s.value = value.substr(0, engine::kMaxSpecText);
    s.valueKnown = known;
    s.origin = origin;
    s.at = at;
    return s;
  }
  void add(std::string_view name, std::string_view value, bool known, SettingOrigin origin,
           Place at) {
    add(make(name, value, known, origin, at));
  }
  void add(SpecSetting s) {
    if (out_.settings.size() < engine::kMaxSpecItems) out_.settings.push_back(std::move(s));
  }
  void keepShellVariable(SpecSetting s) {
    if (shellVariables_.size() < engine::kMaxSpecItems) shellVariables_.push_back(std::move(s));
  }
  bool isExported(std::string_view name) const {
    return std::find(exportedNames_.begin(), exportedNames_.end(), name) != exportedNames_.end();
  }

  ShellFacts& out_;
  int nesting_;
  Mode mode_ = Mode::Start;
  std::string pending_;   // an option whose value the next word is
  std::string previous_;  // the word before
  std::string command_;   // the statement's program
  std::string genvName_;
  std::string cshellName_;
  bool cshell_ = false;
  bool blockValue_ = false;
  bool previousWasAssignment_ = false;
  std::vector<SpecSetting> prefix_;
  std::vector<SpecSetting> shellVariables_;
  std::vector<std::string> exportedNames_;
};

// Cuts a script into words and statements as a shell does, as far as that needs no running.
class Script {
 public:
  Script(std::string_view text, Place first, ShellFacts& out, int nesting,
         std::vector<HereDocument>* bodies)
      : text_(text),
        line_(first),
        out_(out),
        nesting_(nesting),
        bodies_(bodies),
        statements_(out, nesting) {}

  void read() {
    while (at_ < text_.size()) step();
    flush();
    statements_.end();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      flush();
      statements_.end();
      newline();
      if (!delimiters_.empty()) hereDocuments();
      return;
    }
    if (isBlank(c)) {
      flush();
      ++at_;
      return;
    }
    if (c == '\\') {
      if (at_ + 1 < text_.size() &&
          (text_[at_ + 1] == '\n' || text_.substr(at_ + 1).starts_with("\r\n"))) {
        at_ += text_[at_ + 1] == '\n' ? 1 : 2;
        newline();
        return;
      }
      begin();
      if (at_ + 1 < text_.size()) put(text_[at_ + 1]);
      at_ += 2;
      return;
    }
    if (c == '#' && !open_) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      return;
    }
    if (c == '\'' || c == '"') {
      quoted(c);
      return;
    }
    if (c == '$') {
      expansion();
      return;
    }
    if (c == '`') {
      begin();
      expands_ = true;
      ++at_;
      while (at_ < text_.size() && text_[at_] != '`') take();
      if (at_ < text_.size()) ++at_;
      return;
    }
    if (c == '<' && text_.substr(at_).starts_with("<<") && !text_.substr(at_).starts_with("<<<")) {
      flush();
      hereStart();
      return;
    }
    if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')') {
      // ">&1" and "&>file" are redirections.
      if (c == '&' && at_ > 0 && (text_[at_ - 1] == '>' || text_[at_ - 1] == '<')) {
        ++at_;
        return;
      }
      flush();
      statements_.end();
      ++at_;
      return;
    }
    begin();
    put(c);
    ++at_;
  }

  void begin() {
    if (open_) return;
    open_ = true;
    expands_ = false;
    word_.clear();
    wordAt_ = line_;
  }
  void put(char c) {
    if (word_.size() < kMaxWord) word_ += c;
  }
  void take() {
    put(text_[at_]);
    if (text_[at_] == '\n')
      newline();
    else
      ++at_;
  }
  void newline() {
    ++at_;
    ++line_.line;
  }
  void flush() {
    if (!open_) return;
    open_ = false;
    statements_.word(word_, wordAt_, false, expands_);
  }

  void quoted(char quote) {
    begin();
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n') {
          ++at_;
          newline();
          continue;
        }
        ++at_;
      } else if (quote == '"' && text_[at_] == '$') {
        expands_ = true;
      }
      take();
    }
    if (at_ < text_.size()) ++at_;
  }

  // $NAME, ${NAME...}, $(...): kept as written.
  void expansion() {
    begin();
    expands_ = true;
    put('$');
    ++at_;
    if (at_ >= text_.size() || (text_[at_] != '(' && text_[at_] != '{')) return;
    const char opener = text_[at_];
    const char closer = opener == '(' ? ')' : '}';
    int depth = 0;
    const std::size_t limit = std::min(text_.size(), at_ + 4096);
    while (at_ < limit) {
      if (text_[at_] == opener) ++depth;
      if (text_[at_] == closer) --depth;
      take();
      if (depth == 0) break;
    }
  }

  void hereStart() {
    if (!out_.heredoc) out_.heredoc = line_;
    at_ += 2;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && isBlank(text_[at_])) ++at_;
    std::string delimiter;
    while (at_ < text_.size() && !isBlank(text_[at_]) && text_[at_] != '\n' &&
           std::string_view(";|&<>)").find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] != '\'' && text_[at_] != '"' && text_[at_] != '\\') delimiter += text_[at_];
      ++at_;
    }
    if (!delimiter.empty() && delimiters_.size() < 16) delimiters_.push_back(std::move(delimiter));
  }

  void hereDocuments() {
    const std::vector<std::string> delimiters = std::move(delimiters_);
    delimiters_.clear();
    for (const std::string& delimiter : delimiters) {
      const Place first = line_;
      const std::size_t begin = at_;
      std::size_t end = text_.size();
      while (at_ < text_.size()) {
        const std::size_t eol = std::min(text_.find('\n', at_), text_.size());
        std::string_view one = text_.substr(at_, eol - at_);
        const bool last = trimmed(one) == delimiter;
        if (last) end = at_;
        at_ = eol;
        if (at_ < text_.size()) newline();
        if (last) break;
      }
      const std::string_view body = text_.substr(begin, end - begin);
      if (bodies_ && bodies_->size() < 64) bodies_->push_back({std::string(body), first});
      if (nesting_ < kMaxNesting) Script(body, first, out_, nesting_ + 1, nullptr).read();
    }
  }

  static std::string_view trimmed(std::string_view s) {
    while (!s.empty() && isBlank(s.front())) s.remove_prefix(1);
    while (!s.empty() && isBlank(s.back())) s.remove_suffix(1);
    return s;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Place line_;
  ShellFacts& out_;
  int nesting_;
  std::vector<HereDocument>* bodies_;
  Statements statements_;
  std::string word_;
  Place wordAt_;
  bool open_ = false;
  bool expands_ = false;
  std::vector<std::string> delimiters_;
};

void Statements::script(const std::string& text, Place at, bool block) {
  if (nesting_ >= kMaxNesting) return;
  Place first = at;
  if (block) ++first.line;
  Script(text, first, out_, nesting_ + 1, nullptr).read();
}

bool holdsSettings(std::string_view text) {
  for (const std::string_view words :
       {"export ", "NCCL_", "UCX_", "FI_PROVIDER", "--nnodes", "mpirun "})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

}  // namespace

bool splitAssignment(std::string_view word, std::string_view& name, std::string_view& value) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  name = word.substr(0, equals);
  if (name[0] >= '0' && name[0] <= '9') return false;
  if (!std::all_of(name.begin(), name.end(), isNameByte)) return false;
  value = word.substr(equals + 1);
  return true;
}

void readExportList(std::string_view list, engine::Place at, engine::ShellFacts& out) {
  while (!list.empty() && out.settings.size() < engine::kMaxSpecItems) {
    const auto comma = list.find(',');
    std::string_view name, value;
    if (splitAssignment(list.substr(0, comma), name, value)) {
      SpecSetting s;
      s.name = name;
      s.value = value.substr(0, engine::kMaxSpecText);
      s.valueKnown = value.find('$') == std::string_view::npos;
      s.origin = SettingOrigin::Option;
      s.at = at;
      out.settings.push_back(std::move(s));
    }
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
}

void readShellScript(std::string_view text, engine::Place first, engine::ShellFacts& out,
                     std::vector<HereDocument>* bodies) {
  Script(text, first, out, 0, bodies).read();
}

void readShellWords(const std::vector<ShellWord>& words, engine::ShellFacts& out) {
  Statements statements(out, 0);
  for (const ShellWord& w : words) {
    // A script that an image's own entry point takes as one argument.
    const bool whole = w.text.find_first_of(" \n") != std::string_view::npos &&
                       !statements.takesScript() && holdsSettings(w.text);
    if (whole) {
      Place first = w.at;
      if (w.block) ++first.line;
      Script(w.text, first, out, 1, nullptr).read();
    }
    statements.word(std::string(w.text), w.at, w.block, w.text.find('$') != std::string_view::npos);
  }
  statements.end();
}

}  // namespace rdmaguard::readers
