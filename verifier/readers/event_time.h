// Time stamps as logs write them, on a common scale. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace rdmaguard::readers {

/// How many characters a time stamp at the front of `text` takes, brackets, a closing ':' and the
/// blank after it included; 0 = there is none. glog's "[E1019 04:10:31.11 file.cpp:552]" counts
/// whole.
std::size_t stampLength(std::string_view text) noexcept;

/// The year that stamps without one (syslog's, glog's) are put in: a leap year, so that every date
/// exists. inYear() moves them.
inline constexpr int kNoYear = 1972;

/// What `stamp` begins with, in seconds. With a date: since 1970 (the zone is not looked at: the
/// nodes of a job are taken to write the same one). Without: since midnight. A bare count, as the
/// kernel's "[12345.678]" and UCX's: as it stands. -1: no stamp.
double secondsOf(std::string_view stamp) noexcept;

/// The year `stamp` names; 0 = it names none.
int yearOf(std::string_view stamp) noexcept;

/// `seconds` of a stamp without a year, as if written in `year`; others unchanged.
double inYear(double seconds, int year) noexcept;

}  // namespace rdmaguard::readers
