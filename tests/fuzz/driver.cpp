// Runs a fuzz target without libFuzzer, so that g++ alone is enough:
//
//   fuzz_<target> [--inputs N] [--seed S] [--seconds T] <file or folder>...
//
// First every file given, then N mutated inputs.  The inputs run in a child process, and the current one lies
// in memory shared with the parent: whatever ends the child (a sanitizer, a signal, the alarm of T seconds an
// input, lack of memory), the parent still has the input, writes it to crash-<target>-<seed>-<number> in the
// current folder and says how to run it again.  Exit codes: 0 no finding, 1 a finding, 2 wrong arguments.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/mutator.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// What the sanitizers take where ASAN_OPTIONS and UBSAN_OPTIONS say nothing: every report ends the process,
// and so does asking for more memory than any input of kMaxInputBytes can justify.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are the sanitizers' own.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=256:quarantine_size_mb=32"; }
extern "C" const char* __ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }
// NOLINTEND(bugprone-reserved-identifier)

namespace kolo::fuzz {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string target;
  std::vector<fs::path> paths;
  std::uint64_t inputs = 0;
  std::uint64_t seed = 1;
  std::uint64_t seconds = 10;
};

/// What the child is at, in memory that outlives it.
struct Current {
  std::uint64_t number;  ///< from 1; the files come first
  std::size_t size;
  bool finished;
  std::uint8_t bytes[kMaxInputBytes];
};

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("not a number: " + std::string(text));
  }
  return value;
}

Options parse_options(int argc, char** argv) {
  Options options;
  options.target = fs::path(argv[0]).filename().string();
  if (options.target.starts_with("fuzz_")) options.target.erase(0, 5);
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    std::uint64_t* const number = text == "--inputs"    ? &options.inputs
                                  : text == "--seed"    ? &options.seed
                                  : text == "--seconds" ? &options.seconds
                                                        : nullptr;
    if (number == nullptr) {
      options.paths.emplace_back(text);
    } else if (++i < argc) {
      *number = parse_number(argv[i]);
    } else {
      throw std::invalid_argument(std::string(text) + " needs a number");
    }
  }
  return options;
}

/// Sorted, because the mutated inputs follow from the order too.
std::vector<fs::path> corpus_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  if (files.empty()) throw std::invalid_argument("no corpus: expected files or folders with files");
  return files;
}

Input read_input(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument("cannot read " + path.string());
  Input input{std::istreambuf_iterator<char>(in), {}};
  if (input.size() > kMaxInputBytes) {
    throw std::invalid_argument(path.string() + " has more than " + std::to_string(kMaxInputBytes) +
                                " bytes");
  }
  return input;
}

void run_one(const Input& input, std::uint64_t seconds, Current& current) {
  ++current.number;
  current.size = input.size();
  std::ranges::copy(input, current.bytes);
  // A block of its own, without the spare room of a vector, so that a read behind its end is seen.
  const auto exact = std::make_unique_for_overwrite<std::uint8_t[]>(input.size());
  std::ranges::copy(input, exact.get());
  ::alarm(static_cast<unsigned>(seconds));
  try {
    LLVMFuzzerTestOneInput(exact.get(), input.size());
  } catch (const std::exception& error) {
    std::cerr << "an exception left the target: " << error.what() << std::endl;
    std::abort();
  }
}

[[noreturn]] void run_all(const Options& options, std::vector<Input> corpus, Current& current) {
  for (const Input& input : corpus)
    run_one(input, options.seconds, current);
  Mutator mutator(std::move(corpus), options.seed);
  for (std::uint64_t i = 0; i < options.inputs; ++i)
    run_one(mutator.next(), options.seconds, current);
  ::alarm(0);
  current.finished = true;
  std::exit(0);  // not _exit: the leak check runs at exit
}

Current& share_current() {
  void* const memory =
      ::mmap(nullptr, sizeof(Current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::strerror(errno));
  return *new (memory) Current{};
}

std::string describe(int status, const Options& options) {
  if (!WIFSIGNALED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM) return "more than " + std::to_string(options.seconds) + " s for one input";
  return std::string("signal ") + strsignal(WTERMSIG(status));
}

int report(const Options& options, std::string_view file_name, const std::string& cause,
           const Current& current) {
  std::cerr << "\nFINDING in " << options.target << ": " << cause;
  if (current.finished) {
    std::cerr << " after the last input (a leak, or a fault at exit)\n";
    return 1;
  }
  const std::string name =
      "crash-" + options.target + "-" + std::to_string(options.seed) + "-" + std::to_string(current.number);
  std::ofstream out(name, std::ios::binary);
  std::copy_n(current.bytes, current.size, std::ostreambuf_iterator<char>(out));
  out.close();
  std::cerr << " at input " << current.number << " of " << file_name << "\n"
            << (out ? "input written to " : "could not write the input to ") << fs::absolute(name).string()
            << "; give that file alone to run it again\n";
  return 1;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const std::vector<fs::path> files = corpus_files(options.paths);
  std::vector<Input> corpus;
  std::ranges::transform(files, std::back_inserter(corpus), read_input);
  Current& current = share_current();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(std::strerror(errno));
  if (child == 0) run_all(options, std::move(corpus), current);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && current.finished) {
    std::cout << options.target << ": no finding in " << files.size() << " files and " << options.inputs
              << " mutated inputs of seed " << options.seed << "\n";
    return 0;
  }
  const bool is_file = current.number > 0 && current.number <= files.size();
  return report(options, is_file ? files[current.number - 1].string() : "the mutated ones",
                describe(status, options), current);
}

}  // namespace
}  // namespace kolo::fuzz

int main(int argc, char** argv) {
  try {
    return kolo::fuzz::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 2;
  }
}
