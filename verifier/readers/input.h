// Files, directories, standard input, .gz and .zst -> JobFacts: opens them, splits them into
// lines and hands each line or region to the reader it belongs to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verifier/readers/reader.h"

namespace rdmaguard::readers {

/// A file that could not be read, or not to its end.
struct InputProblem {
  std::string file;
  std::string what;  ///< a sentence
  bool nothingRead = false;
};

struct InputResult {
  JobFacts facts;
  std::vector<InputProblem> problems;
  std::uint64_t bytesRead = 0;  ///< after decompression
};

/// What the facts are for. For a verdict, the reading stays at the speed of the disk; for errors
/// it also keeps waits, marks, unknown errors and where each file ends (run_facts.h).
enum class ReadFor : std::uint8_t { Verdict, Errors };

/// Reads `paths` in order; a directory stands for its files by name, recursively; "-" for
/// standard input. Never throws for what a file holds.
InputResult readInput(std::span<const std::string> paths, ReadFor purpose = ReadFor::Verdict);

/// The same for text already in memory, as one file of that name.
InputResult readText(std::string_view text, const std::string& name,
                     ReadFor purpose = ReadFor::Verdict);

}  // namespace rdmaguard::readers
