// What reaches the readers: packed and wide text, long lines, frames, JSON values, regions.
#include "verifier/readers/input.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "verifier/readers/clean.h"
#include "verifier/readers/input_lines.h"
#include "verifier/readers/region_json.h"
#include "verifier/readers/source.h"

namespace rdmaguard::readers {
namespace {

std::string gzip(std::string_view text) {
  std::string out(text.size() + 1024, '\0');
  z_stream stream{};
  ::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

struct Read {
  std::string text;
  std::string failure;
};

/// All of a source, through a buffer of `room` bytes.
Read all(std::string_view bytes, std::size_t room = 1000) {
  OpenedSource opened = openBytes(bytes);
  if (!opened.bytes) return {"", opened.failure};
  Read out;
  std::string buffer(room, '\0');
  while (const std::size_t n = opened.bytes->read(buffer.data(), room))
    out.text.append(buffer, 0, n);
  out.failure = opened.bytes->failure();
  return out;
}

std::string longText() {
  std::string out;
  for (int i = 0; i < 40'000; ++i) out += "line " + std::to_string(i * 7919 % 100'003) + '\n';
  return out;
}

struct Piece {
  std::string text;
  std::uint64_t number;
  bool further;
};

std::vector<Piece> split(std::string_view text, bool* cut = nullptr) {
  OpenedSource opened = openBytes(text);
  std::vector<Piece> out;
  LineSplitter splitter;
  const auto end =
      splitter.split(*opened.bytes, [&](std::string_view line, std::uint64_t n, bool further) {
        out.push_back({std::string(line), n, further});
      });
  if (cut != nullptr) *cut = end.cut;
  return out;
}

TEST(Source, PackedTextComesOutWholeWhateverTheSizeOfTheBuffer) {
  const std::string text = longText();
  for (const std::size_t room : {1UL, 17UL, 4096UL, text.size(), text.size() + 1}) {
    for (const std::string& packed : {gzip(text), zstd(text)}) {
      const Read read = all(packed, room);
      EXPECT_EQ(read.text, text) << room;
      EXPECT_EQ(read.failure, "") << room;
    }
  }
}

TEST(Source, SeveralMembersInARowAreOneText) {
  EXPECT_EQ(all(gzip("a\n") + gzip("b\n") + std::string(512, '\0')).text, "a\nb\n");
  EXPECT_EQ(all(zstd("a\n") + zstd("b\n")).text, "a\nb\n");
}

TEST(Source, ACutArchiveGivesWhatItHeldAndSaysSo) {
  const std::string text = longText();
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    const Read read = all(packed.substr(0, packed.size() / 2));
    EXPECT_GT(read.text.size(), 100U);
    EXPECT_EQ(text.substr(0, read.text.size()), read.text);
    EXPECT_NE(read.failure.find("ends too early"), std::string::npos) << read.failure;
  }
}

TEST(Source, ArchivesThatAreNotReadAreNamed) {
  EXPECT_NE(all(std::string("\xfd"
                            "7zXZ\0\0\0",
                            8))
                .failure.find("xz"),
            std::string::npos);
  EXPECT_NE(all("PK\x03\x04xxxx").failure.find("zip"), std::string::npos);
}

TEST(Source, Utf16OfEitherOrderWithOrWithoutAMarkIsUtf8) {
  const std::u16string wide = u"NCCL version 2.27\n\u00e9\u4e2d\U0001f600\n";
  const std::string plain = "NCCL version 2.27\n\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\n";
  for (const bool big : {false, true})
    for (const bool mark : {false, true}) {
      std::string bytes;
      const auto put = [&](char16_t unit) {
        const char high = static_cast<char>(unit >> 8U), low = static_cast<char>(unit & 0xffU);
        bytes += big ? std::string{high, low} : std::string{low, high};
      };
      if (mark) put(0xfeff);
      for (const char16_t unit : wide) put(unit);
      std::string text = all(bytes, 3).text;
      if (mark && text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
      EXPECT_EQ(text, plain) << big << mark;
    }
}

TEST(Lines, AreNumberedFromOneAndTheLastMayLackItsEnd) {
  bool cut = false;
  const auto lines = split("a\n\nb", &cut);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "b");
  EXPECT_EQ(lines[2].number, 3U);
  EXPECT_TRUE(cut);
}

TEST(Lines, ALongLineComesInBoundedPiecesThatLoseNothing) {
  std::string text;
  while (text.size() < 5'000'000) text += "word ";
  bool cut = true;
  const auto lines = split("first\n" + text + "\nlast\n", &cut);
  std::string joined;
  for (const Piece& piece : lines) {
    EXPECT_LE(piece.text.size(), kMaxLineBytes + (256U << 10U));
    if (piece.number != 2) continue;
    EXPECT_EQ(piece.further, !joined.empty());
    if (piece.text.size() > 10) {
      EXPECT_TRUE(piece.text.ends_with(' ')) << "torn within a word";
    }
    joined += piece.text;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(lines.back().text, "last");
  EXPECT_EQ(lines.back().number, 3U);
  EXPECT_FALSE(cut);
}

TEST(Clean, ControlsGoAndTextStays) {
  std::string scratch;
  EXPECT_EQ(withoutControls("\x1b[1;32mNCCL\x1b[0m INFO", scratch), "NCCL INFO");
  EXPECT_EQ(withoutControls("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\!", scratch), "link!");
  EXPECT_EQ(withoutControls(std::string_view("\0\0a\0b", 5), scratch), "ab");
  EXPECT_EQ(withoutControls("a\x1b", scratch), "a");
  const std::string_view plain = "plain";
  EXPECT_EQ(withoutControls(plain, scratch).data(), plain.data()) << "copied for nothing";
}

TEST(Clean, FramesAndQuotesGo) {
  EXPECT_EQ(withoutFrame("\xe2\x94\x82 ls /dev \xe2\x94\x82\r"), "ls /dev");
  EXPECT_EQ(withoutFrame("> > State: Active"), "State: Active");
  EXPECT_EQ(withoutFrame("  indented  "), "  indented");
  EXPECT_EQ(withoutFrame(">"), "");
}

TEST(Json, StartsAreToldFromLauncherTagsAndStamps) {
  for (const char* line : {"{", "[", "{\"a\": 1}", "[{", "{ }"})
    EXPECT_TRUE(JsonGatherer::mayStart(line)) << line;
  for (const char* line :
       {"[default0]:x", "[ 12.34] mlx5_core", "[1,0]<stdout>:x", "{a: 1}", "[0] x"})
    EXPECT_FALSE(JsonGatherer::mayStart(line)) << line;
}

TEST(Json, AValueEndsWithItsBracketAndProseIsRefused) {
  JsonGatherer value;
  EXPECT_EQ(value.take("{", {0, 1}), JsonGatherer::Step::Wants);
  EXPECT_EQ(value.take(R"(  "a": "}\"{",)", {0, 2}), JsonGatherer::Step::Wants);
  EXPECT_EQ(value.take(R"(  "b": [1, true]})", {0, 3}), JsonGatherer::Step::Complete);
  EXPECT_EQ(value.first(), (Place{0, 1}));
  value.clear();
  EXPECT_EQ(value.take("{", {0, 1}), JsonGatherer::Step::Wants);
  EXPECT_EQ(value.take("epoch 1", {0, 2}), JsonGatherer::Step::Refused);
}

TEST(Input, ALogLineBetweenTheLinesOfAValueIsNotLost) {
  const auto in = readText("{\nh:1:2 [0] NCCL INFO Using network Socket\n", "x");
  ASSERT_EQ(in.facts.log.processes.size(), 1U);
  EXPECT_EQ(in.facts.log.processes[0].networks[0].at, (Place{0, 2}));
}

TEST(Input, AContainerRuntimesObjectsAreUnwrapped) {
  const auto in = readText(
      "{\"log\":\"h:1:2 [0] NCCL INFO Using network Socket\\n\",\"stream\":\"stdout\"}\n", "x");
  ASSERT_EQ(in.facts.log.processes.size(), 1U);
  EXPECT_EQ(in.facts.log.processes[0].host, "h");
}

TEST(Input, AnUnreadableInputIsAProblemWithASentence) {
  for (const std::string& text : {std::string(), std::string("\n \n"), std::string(4096, '\1')}) {
    const auto in = readText(text, "name");
    ASSERT_EQ(in.problems.size(), 1U);
    EXPECT_EQ(in.problems[0].file, "name");
    EXPECT_TRUE(in.problems[0].nothingRead);
  }
  EXPECT_TRUE(readText("some words\n", "name").problems.empty());
}

}  // namespace
}  // namespace rdmaguard::readers
