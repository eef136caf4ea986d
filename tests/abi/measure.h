// Prints what the compiler makes of a type: compare.py builds one program over our headers and one
// over NCCL's from it, and compares their lines.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <type_traits>

namespace measure {

template <class T>
std::string describe();

template <class T>
struct Callable {
  static constexpr bool value = false;
};
template <class R, class... A>
struct Callable<R(A...)> {
  static constexpr bool value = true;
  static std::string text() {
    return describe<R>() + "(" + ((describe<A>() + " ") + ... + "") + ")";
  }
};
template <class R, class... A>
struct Callable<R(A..., ...)> {
  static constexpr bool value = true;
  static std::string text() {
    return describe<R>() + "(" + ((describe<A>() + " ") + ... + "") + "...)";
  }
};

/// A type as the ABI sees it: names and const are gone, sizes, signs and signatures stay.
template <class T>
std::string describe() {
  using U = std::remove_cv_t<T>;
  if constexpr (Callable<U>::value) {
    return Callable<U>::text();
  } else if constexpr (std::is_pointer_v<U>) {
    using To = std::remove_cv_t<std::remove_pointer_t<U>>;
    if constexpr (std::is_class_v<To> || std::is_union_v<To>)
      return "*struct";
    else
      return "*" + describe<To>();
  } else if constexpr (std::is_void_v<U>) {
    return "void";
  } else if constexpr (std::is_array_v<U>) {
    return "[" + std::to_string(std::extent_v<U>) + "]" + describe<std::remove_extent_t<U>>();
  } else {
    const std::string bytes = std::to_string(sizeof(U));
    if constexpr (std::is_enum_v<U>)
      return "enum" + bytes;
    else if constexpr (std::is_same_v<U, bool>)
      return "bool" + bytes;
    else if constexpr (std::is_floating_point_v<U>)
      return "float" + bytes;
    else if constexpr (std::is_integral_v<U>)
      return (std::is_signed_v<U> ? "int" : "uint") + bytes;
    else
      return "struct" + bytes;
  }
}

inline void put(const char* label, long long value) {
  std::printf("%s %lld\n", label, value);
}
inline void put(const char* label, const std::string& text) {
  std::printf("%s %s\n", label, text.c_str());
}

}  // namespace measure

#define MEASURE_SIZE(label, type) measure::put(label ".size", static_cast<long long>(sizeof(type)))
#define MEASURE_FIELD(label, type, field)                                                     \
  measure::put(label ".offset", static_cast<long long>(offsetof(type, field)));               \
  measure::put(label ".bytes", static_cast<long long>(sizeof(static_cast<type*>(0)->field))); \
  measure::put(label ".kind", measure::describe<decltype(static_cast<type*>(0)->field)>())
#define MEASURE_TYPE(label, type) measure::put(label ".kind", measure::describe<type>())
#define MEASURE_VALUE(label, value) measure::put(label, static_cast<long long>(value))
