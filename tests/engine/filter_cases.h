// Rows for the name filter: a list, a device and port, and whether NCCL takes it. Used against
// our parser and against the one inside real libnccl files.
#pragma once

#include <array>
#include <ostream>

namespace rdmaguard::test {

struct FilterCase {
  const char* list;
  const char* name;
  int port;
  bool taken;
  int ncclVersion = 0;  // 0: the same in every release
};

inline std::ostream& operator<<(std::ostream& out, const FilterCase& c) {
  return out << c.list << " for " << c.name << ":" << c.port;
}

inline constexpr std::array kFilterCases{
    FilterCase{"", "mlx5_0", 1, true},
    FilterCase{"mlx5", "mlx5_0", 1, true},
    FilterCase{"mlx5_1", "mlx5_10", 1, true},
    FilterCase{"=mlx5_1", "mlx5_10", 1, false},
    FilterCase{"=mlx5_1", "mlx5_1", 1, true},
    FilterCase{"ibp", "mlx5_0", 1, false},
    FilterCase{"mlx5_0:1", "mlx5_0", 1, true},
    FilterCase{"mlx5_0:1", "mlx5_0", 2, false},
    FilterCase{"mlx5_0:1,mlx5_0:2", "mlx5_0", 2, true},
    FilterCase{"=mlx5_0:2", "mlx5_0", 2, true},
    FilterCase{"^mlx5_0", "mlx5_0", 1, false},
    FilterCase{"^mlx5_0", "mlx5_1", 1, true},
    FilterCase{"^mlx5_1", "mlx5_10", 1, false},
    FilterCase{"^=mlx5_1", "mlx5_10", 1, true},
    FilterCase{"^=mlx5_1", "mlx5_1", 1, false},
    FilterCase{"^mlx5_0:2", "mlx5_0", 1, true},
    FilterCase{"^", "mlx5_0", 1, false},
    FilterCase{"=", "mlx5_0", 1, true},
    FilterCase{"=^mlx5_0", "mlx5_1", 1, false},
    FilterCase{",,mlx5_3,", "mlx5_3", 1, true},
    FilterCase{",,", "mlx5_3", 1, true},
    FilterCase{":1,mlx5_3", "mlx5_4", 1, false},
    FilterCase{"mlx5_0, mlx5_1", "mlx5_1", 1, false},
    FilterCase{"\"mlx5_0\"", "mlx5_0", 1, false},
    FilterCase{"MLX5", "mlx5_0", 1, false},
    FilterCase{"mlx5_0:1x", "mlx5_0", 1, true},
    FilterCase{"mlx5_0:x", "mlx5_0", 1, false},
    FilterCase{"mlx5_0:-1", "mlx5_0", 7, true},
    FilterCase{"mlx5_0:", "mlx5_0", 1, true, 23007},
    FilterCase{"mlx5_0:", "mlx5_0", 1, false, 22907},
    FilterCase{"mlx5_0:1:3:0", "mlx5_0", 1, true},
    FilterCase{"mlx5_0::3:0", "mlx5_0", 1, true, 23007},
    FilterCase{"eth0", "eth0", -1, true},
    FilterCase{"eth", "eno1", -1, false},
    FilterCase{"^docker,lo", "lo", -1, false},
    FilterCase{"^docker,lo", "eth0", -1, true},
    FilterCase{"=eth0:7", "eth0", -1, true},
};

}  // namespace rdmaguard::test
