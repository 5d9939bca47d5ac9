// What several tests of io need: checkpoints to write, errors to look into, programs to run.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kolo/io/checkpoint.hpp"
#include "kolo/util/error.hpp"

namespace kolo::io::test {

template <class T>
NamedTensor tensor(std::string name, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(name), dtype_of<T>(), std::move(shape), {bytes.begin(), bytes.end()}};
}

/// Small, but with a bit of everything.
inline Checkpoint sample_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.config = "[run]\nseed = 7  # größer, 最新\n";
  checkpoint.model = {tensor<float>("layer1.0.conv1.weight", {2, 1, 3}, {1.5F, -2, 3, 4, 5, 6.25F}),
                      tensor<float>("fc.bias", {2}, {0.5F, -0.5F})};
  checkpoint.buffers = {tensor<double>("bn.running_mean", {3}, {0.1, 0.2, 0.3}),
                        tensor<std::int64_t>("bn.num_batches_tracked", {}, {-9})};
  checkpoint.optimizer["exp_avg"] = {tensor<float>("layer1.0.conv1.weight", {2, 1, 3}, {6, 5, 4, 3, 2, 1}),
                                     tensor<float>("fc.bias", {2}, {1, 2})};
  checkpoint.progress = {{"epoch", std::int64_t{3}}, {"loss_sum", 0.1}, {"strategy", "allreduce"}};
  checkpoint.metrics = {{"epoch", "train_loss", "lr", "val_top1", "train_top1"},
                        {{1, 2.25, 0.1, 0.5, 0.25}, {2, 1.125, 0.01, 0.75, 1.0 / 3}}};
  return checkpoint;
}

/// The message and hint of the `E` that `act` throws; fails the test if it throws anything else or nothing.
template <class E, class F>
std::string message_of(F&& act) {
  try {
    act();
  } catch (const E& error) {
    return std::string(error.what()) + '\n' + error.hint();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw another kind of error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "threw nothing";
  return {};
}

struct Outcome {
  int status = -1;
  std::string output;  ///< standard output and standard error
};

inline Outcome run_program(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// Names in `directory`, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Caps the size of files this process may write, and takes the signal's default death away, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

}  // namespace kolo::io::test
