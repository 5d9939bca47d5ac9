// Makes the rows of the option table: one call binds one key to its member, by the member's type.
//
// Texts keep to what a deck line can hold (no comment sign after white space, no line breaks), so that every
// accepted value survives being written to a deck and read back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kolo/config/choices.hpp"
#include "kolo/config/option_table.hpp"
#include "kolo/config/parse_value.hpp"
#include "kolo/config/range.hpp"

namespace kolo::config {

enum class Emptiness { allowed, refused };

class OptionBinder {
 public:
  /// Rows of `section` are appended to `options`, which must outlive the binder.
  OptionBinder(std::string_view section, std::vector<Option>& options)
      : section_(section), options_(options) {}

  void operator()(std::string_view name, std::int64_t& member, IntegerRange range, std::string_view help);
  void operator()(std::string_view name, double& member, RealRange range, std::string_view help);
  void operator()(std::string_view name, bool& member, std::string_view help);
  void operator()(std::string_view name, std::string& member, Emptiness emptiness, std::string_view help);
  void operator()(std::string_view name, std::vector<std::int64_t>& member, IntegerRange range,
                  std::string_view help);
  void operator()(std::string_view name, std::vector<double>& member, RealRange range, std::string_view help);

  template <Choosable E>
  void operator()(std::string_view name, E& member, std::string_view help) {
    Option& option = add(name, help, choices_text<E>());
    option.assign = [&member](const std::string& text) {
      const auto value = parse_value<E>({text});
      if (value) member = *value;
      return value.has_value();
    };
    option.print = [&member] { return std::string(name_of(member)); };
  }

 private:
  Option& add(std::string_view name, std::string_view help, std::string expected);
  template <class T, class Range>
  void bind_number(std::string_view name, T& member, Range range, std::string_view noun,
                   std::string_view help);
  template <class T, class Range>
  void bind_list(std::string_view name, std::vector<T>& member, Range range, std::string_view nouns,
                 std::string_view help);

  std::string section_;
  std::vector<Option>& options_;
};

}  // namespace kolo::config
