// How the values of each enum are spelt in decks and on the command line.
//
// One array per enum, in the order in which help texts list them.  Everything else (parsing, printing,
// "expected ..." texts) is derived from these arrays, so a new value is added in one place.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "kolo/config/config.hpp"

namespace kolo::config {

template <class E>
struct Choice {
  std::string_view name;
  E value;
};

/// Specialised as an array of Choice<E> for each enum that a user can set.
template <class E>
inline constexpr std::nullptr_t kChoices = nullptr;

template <>
inline constexpr Choice<Dtype> kChoices<Dtype>[] = {{"fp32", Dtype::fp32}, {"fp64", Dtype::fp64}};
template <>
inline constexpr Choice<Device> kChoices<Device>[] = {{"auto", Device::automatic}, {"cpu", Device::cpu}};
template <>
inline constexpr Choice<Progress> kChoices<Progress>[] = {{"auto", Progress::automatic},
                                                          {"bar", Progress::bar},
                                                          {"plain", Progress::plain},
                                                          {"none", Progress::none}};
template <>
inline constexpr Choice<DataFormat> kChoices<DataFormat>[] = {{"synthetic", DataFormat::synthetic},
                                                              {"idx", DataFormat::idx},
                                                              {"cifar10", DataFormat::cifar10},
                                                              {"cifar100", DataFormat::cifar100},
                                                              {"hdf5", DataFormat::hdf5}};
template <>
inline constexpr Choice<Stem> kChoices<Stem>[] = {{"imagenet", Stem::imagenet}, {"cifar", Stem::cifar}};
template <>
inline constexpr Choice<BatchNorm> kChoices<BatchNorm>[] = {{"local", BatchNorm::local}};
template <>
inline constexpr Choice<MemoryFormat> kChoices<MemoryFormat>[] = {
    {"auto", MemoryFormat::automatic},
    {"contiguous", MemoryFormat::contiguous},
    {"channels_last", MemoryFormat::channels_last}};
template <>
inline constexpr Choice<OnNonfinite> kChoices<OnNonfinite>[] = {{"stop", OnNonfinite::stop},
                                                                {"skip", OnNonfinite::skip}};
template <>
inline constexpr Choice<OptimizerName> kChoices<OptimizerName>[] = {
    {"sgd", OptimizerName::sgd}, {"adam", OptimizerName::adam}, {"adamw", OptimizerName::adamw}};
template <>
inline constexpr Choice<NoDecay> kChoices<NoDecay>[] = {{"none", NoDecay::none},
                                                        {"bias_and_norm", NoDecay::bias_and_norm}};
template <>
inline constexpr Choice<ScaleLr> kChoices<ScaleLr>[] = {
    {"none", ScaleLr::none}, {"linear", ScaleLr::linear}, {"sqrt", ScaleLr::sqrt}};
template <>
inline constexpr Choice<ScheduleName> kChoices<ScheduleName>[] = {{"constant", ScheduleName::constant},
                                                                  {"step", ScheduleName::step},
                                                                  {"multistep", ScheduleName::multistep},
                                                                  {"cosine", ScheduleName::cosine}};
template <>
inline constexpr Choice<Strategy> kChoices<Strategy>[] = {
    {"auto", Strategy::automatic}, {"shared", Strategy::shared}, {"allreduce", Strategy::allreduce}};
template <>
inline constexpr Choice<Bind> kChoices<Bind>[] = {
    {"auto", Bind::automatic}, {"keep", Bind::keep}, {"none", Bind::none}};
template <>
inline constexpr Choice<Resume> kChoices<Resume>[] = {
    {"off", Resume::off}, {"auto", Resume::automatic}, {"required", Resume::required}};

template <>
inline constexpr Choice<Malloc> kChoices<Malloc>[] = {{"recycle", Malloc::recycle},
                                                      {"system", Malloc::system}};
template <>
inline constexpr Choice<HugePages> kChoices<HugePages>[] = {{"auto", HugePages::automatic},
                                                            {"off", HugePages::off}};
template <>
inline constexpr Choice<Launcher> kChoices<Launcher>[] = {{"mpirun", Launcher::mpirun},
                                                          {"srun", Launcher::srun}};

/// An enum with a kChoices array.
template <class E>
concept Choosable = std::is_enum_v<E> && std::is_array_v<std::remove_reference_t<decltype(kChoices<E>)>>;

/// The deck's spelling of `value`.
template <Choosable E>
constexpr std::string_view name_of(E value) {
  for (const Choice<E>& choice : kChoices<E>) {
    if (choice.value == value) return choice.name;
  }
  return "?";
}

/// "one of fp32, fp64" (or the one name there is).
template <Choosable E>
std::string choices_text() {
  std::string names;
  for (const Choice<E>& choice : kChoices<E>) {
    if (!names.empty()) names += ", ";
    names += choice.name;
  }
  return std::size(kChoices<E>) > 1 ? "one of " + names : names;
}

}  // namespace kolo::config
