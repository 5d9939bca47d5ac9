// Element types that cross module borders without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kolo {

enum class DType { f32, f64, i64, u8 };

constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// "fp32", "fp64", "int64" or "uint8".
constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "fp32";
    case DType::f64:
      return "fp64";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
  }
  return "?";
}

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}

}  // namespace kolo
