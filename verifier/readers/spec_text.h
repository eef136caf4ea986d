// Manifests as people paste them, made into documents a YAML parser takes: common indentation,
// tabs, separators, and what templates leave in them. Line numbers stay. Used by spec.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaguard::readers {

/// One document of a region.
struct SpecText {
  std::string text;                ///< line n of it is line firstLine + n of the region
  std::uint64_t firstLine = 0;     ///< counted from 0
  bool blank = true;               ///< nothing but comments
  bool separated = false;          ///< a "---" stands before it
  bool templated = false;          ///< holds {{ }}, {% %} or ${ }
  bool opaque = false;             ///< whole lines were a template's
  bool elided = false;             ///< "..." stands for what was left out
  std::uint64_t templateLine = 0;  ///< of the region, counted from 0
};

struct SpecTexts {
  std::vector<SpecText> documents;
  bool tabs = false;
  std::uint64_t tabLine = 0;
};

SpecTexts splitSpec(std::string_view region);

/// The scalar that stands where a template's value was.
inline constexpr std::string_view kTemplateWord = "__template__";

}  // namespace rdmaguard::readers
