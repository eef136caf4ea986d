// What a shell script or a command line sets for the program it starts, without running it:
// exports, prefixes, mpirun -x, srun --export, here-documents. For batch scripts and for the
// command and args of containers. Linear; never follows a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verifier/engine/spec_facts.h"

namespace rdmaguard::readers {

/// A here-document: its body and where that starts.
struct HereDocument {
  std::string text;
  engine::Place first;
};

/// One word of a command line that is known word by word, as in a container's args.
struct ShellWord {
  std::string_view text;
  engine::Place at;
  bool block = false;  ///< its text starts a line below `at`
};

/// Reads a script. Bodies of here-documents are read for exports too (a script that is written to
/// be run) and handed out.
void readShellScript(std::string_view text, engine::Place first, engine::ShellFacts& out,
                     std::vector<HereDocument>* bodies = nullptr);

/// Reads a command that is given as separate words; a word behind "-c" is a script of its own.
void readShellWords(const std::vector<ShellWord>& words, engine::ShellFacts& out);

/// "NCCL_IB_HCA=ibp" in its parts. False: no assignment of an environment variable.
bool splitAssignment(std::string_view word, std::string_view& name, std::string_view& value);

/// The items of "ALL,A=b,C=d" (--export).
void readExportList(std::string_view list, engine::Place at, engine::ShellFacts& out);

}  // namespace rdmaguard::readers
