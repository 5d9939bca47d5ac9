#include "command_table.hpp"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <functional>
#include <optional>
#include <string>

#include "kolo/config/parse_value.hpp"
#include "kolo/config/range.hpp"
#include "kolo/config/wording.hpp"
#include "kolo/util/error.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::config {
namespace {

namespace po = boost::program_options;

constexpr unsigned kDeck = static_cast<unsigned>(Group::deck);

constexpr CommandRow kCommands[] = {
    {"train", "", Command::train, kDeck | Group::run, "train; this is what kolo does without a command"},
    {"check", "", Command::check, kDeck, "validate deck and data, plan, estimate memory; train nothing"},
    {"bench", "train", Command::bench, kDeck | Group::repeat | Group::report,
     "measure a training step and its parts on random images"},
    {"bench", "allreduce", Command::bench, kDeck | Group::repeat | Group::sizes | Group::report,
     "measure the gradient exchange by message size, strategy and type"},
    {"bench", "data", Command::bench, kDeck | Group::repeat | Group::report,
     "measure how fast batches can be made, without training"},
    {"bench", "checkpoint", Command::bench, kDeck | Group::repeat | Group::files | Group::report,
     "measure how long training waits for a checkpoint and how fast it is written"},
    {"doctor", "", Command::doctor, kDeck | Group::report,
     "report what this machine and this launch give, and what to mend; code 5 when something is wrong"},
    {"plan", "", Command::plan, kDeck | Group::repeat | Group::launch | Group::report,
     "try ranks x threads of this node with short jobs and advise; started without mpirun"},
    {"inspect", "", Command::inspect, Group::tensors | Group::report,
     "show what a checkpoint or metrics.h5 holds, and whether it is whole; code 4 when it is not", "FILE"},
    {"verify", "", Command::verify, static_cast<unsigned>(Group::report),
     "check every file of a run directory; code 4 when one is damaged", "DIR"},
};

constexpr IntegerRange kEpochs{1, 1'000'000};
constexpr IntegerRange kRepetitions{1, 1'000'000};
constexpr IntegerRange kWarmup{0, 1'000'000};
constexpr std::int64_t kMaxMessage = std::int64_t{1} << 36;
constexpr int kColumns = 110;

[[noreturn]] void refuse(std::string_view option, const std::string& text, std::string_view expected) {
  throw ConfigError(fmt::format("{} {}: expected {}", option, shown(text), expected));
}

// An option with a text value, which `take` turns into a member of CommandLine.
po::typed_value<std::string>* text_value(const char* value_name,
                                         std::function<void(const std::string&)> take) {
  return po::value<std::string>()->value_name(value_name)->notifier(std::move(take));
}

po::typed_value<std::string>* path_value(const char* option, const char* value_name, std::string& member) {
  return text_value(value_name, [option, &member](const std::string& text) {
    if (text.empty()) refuse(option, text, "a path");
    member = text;
  });
}

po::typed_value<std::string>* integer_value(const char* option, const char* value_name,
                                            const IntegerRange& range, std::int64_t& member) {
  return text_value(value_name, [option, &range, &member](const std::string& text) {
    const auto value = parse_value<std::int64_t>({text});
    if (!value || !range.contains(*value)) refuse(option, text, range.text("an integer"));
    member = *value;
  });
}

// Digits only: no sign, no blank.
std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t max) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const auto value = parse_value<std::int64_t>({text});
  return value && *value <= max ? value : std::nullopt;
}

// Bytes of "4096", "64K" or "64KiB", with K, M and G as powers of 1024.
std::optional<std::int64_t> byte_count(std::string text) {
  if (text.ends_with("iB")) text.resize(text.size() - 2);
  int shift = 0;
  if (!text.empty()) {
    const auto unit = std::string_view("KMG").find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.pop_back();
    }
  }
  const auto number = whole_number(text, kMaxMessage >> shift);
  if (!number || *number == 0) return std::nullopt;
  return *number << shift;
}

po::typed_value<std::string>* bytes_value(const char* option, std::int64_t& member) {
  return text_value("BYTES", [option, &member](const std::string& text) {
    const auto value = byte_count(text);
    if (!value) refuse(option, text, "bytes from 1 to 64G, for example 4096, 64K or 16M");
    member = *value;
  });
}

// Seconds of "HH:MM:SS".
std::optional<double> clock_seconds(const std::string& text) {
  constexpr std::int64_t kMaxHours = 1'000'000;
  const auto fields = util::split(text, ':');
  if (fields.size() != 3 || fields[1].size() != 2 || fields[2].size() != 2) return std::nullopt;
  const auto hours = whole_number(fields[0], kMaxHours);
  const auto minutes = whole_number(fields[1], 59);
  const auto seconds = whole_number(fields[2], 59);
  if (!hours || !minutes || !seconds) return std::nullopt;
  return static_cast<double>((*hours * 60 + *minutes) * 60 + *seconds);
}

}  // namespace

std::span<const CommandRow> command_rows() { return kCommands; }

po::options_description general_options(CommandLine& line) {
  po::options_description options("Options", kColumns);
  options.add_options()                                           //
      ("help,h", po::bool_switch(&line.help), "print this text")  //
      ("version", po::bool_switch(&line.version), "print versions and build switches");
  return options;
}

namespace {

po::options_description deck_options(CommandLine& line) {
  po::options_description options("Options of all commands but inspect and verify", kColumns);
  options.add_options()  //
      ("input", path_value("--input", "FILE", line.input),
       "the deck; without one, every key has its default")  //
      ("set", po::value<std::vector<std::string>>(&line.sets)->value_name("section.key=value"),
       "set a deck key, over what the deck says; for several keys, several times");
  return options;
}

po::options_description run_options(CommandLine& line) {
  const auto take_resume = [&line](const std::string& text) {
    const auto resume = parse_value<Resume>({text});
    if (!resume) refuse("--resume", text, choices_text<Resume>());
    line.resume = *resume;
  };
  const auto take_epochs = [&line](const std::string& text) {
    const auto epochs = parse_value<std::int64_t>({text});
    if (!epochs || !kEpochs.contains(*epochs))
      refuse("--stop-after-epochs", text, kEpochs.text("an integer"));
    line.stop_after_epochs = epochs;
  };
  const auto take_time = [&line](const std::string& text) {
    const auto seconds = clock_seconds(text);
    if (!seconds || *seconds <= 0) refuse("--max-time", text, "HH:MM:SS, more than 00:00:00");
    line.max_seconds = seconds;
  };
  po::options_description options("Options of a training run", kColumns);
  options.add_options()  //
      ("run-dir", path_value("--run-dir", "DIR", line.run_dir),
       "where the run writes; default: runs/<deck name>-<date-time>")  //
      ("resume", text_value("off|auto|required", take_resume),
       "go on from the newest checkpoint: never (default), if there is one, or else stop")  //
      ("init-from", path_value("--init-from", "FILE", line.init_from),
       "weights that a new run begins with, from a checkpoint; a resumed run has its own")  //
      ("stop-after-epochs", text_value("N", take_epochs),
       "stop, resumable, after N epochs of this start; schedules are not touched")  //
      ("max-time", text_value("HH:MM:SS", take_time),
       "stop, resumable, at the first step boundary after this much time");
  return options;
}

po::options_description repeat_options(CommandLine& line) {
  po::options_description options("Options of bench and plan", kColumns);
  options.add_options()  //
      ("steps", integer_value("--steps", "N", kRepetitions, line.steps),
       "counted repetitions; default 60")  //
      ("warmup", integer_value("--warmup", "N", kWarmup, line.warmup), "repetitions before them; default 10");
  return options;
}

po::options_description size_options(CommandLine& line) {
  po::options_description options("Options of bench allreduce", kColumns);
  options.add_options()                                                                          //
      ("min-bytes", bytes_value("--min-bytes", line.min_bytes), "smallest message; default 4K")  //
      ("max-bytes", bytes_value("--max-bytes", line.max_bytes), "largest message; default 64M");
  return options;
}

po::options_description launch_options(CommandLine& line) {
  const auto take_launcher = [&line](const std::string& text) {
    const auto launcher = parse_value<Launcher>({text});
    if (!launcher) refuse("--launcher", text, choices_text<Launcher>());
    line.launcher = *launcher;
  };
  po::options_description options("Options of plan", kColumns);
  options.add_options()  //
      ("launcher", text_value("mpirun|srun", take_launcher), "what starts the short jobs; default mpirun");
  return options;
}

po::options_description file_options(CommandLine& line) {
  po::options_description options("Options of bench checkpoint", kColumns);
  options.add_options()  //
      ("directory", path_value("--directory", "DIR", line.directory),
       "where the checkpoints are written, and removed again; default: here");
  return options;
}

po::options_description tensor_options(CommandLine& line) {
  po::options_description options("Options of inspect", kColumns);
  options.add_options()  //
      ("tensors", po::bool_switch(&line.tensors), "a line for each tensor: type, shape, values");
  return options;
}

po::options_description report_options(CommandLine& line) {
  po::options_description options("Options of all commands but train and check", kColumns);
  options.add_options()  //
      ("json", path_value("--json", "FILE", line.json), "write the results to FILE as well, as JSON");
  return options;
}

}  // namespace

std::vector<OptionGroup> option_groups(CommandLine& line) {
  return {{Group::deck, deck_options(line)},      {Group::run, run_options(line)},
          {Group::repeat, repeat_options(line)},  {Group::sizes, size_options(line)},
          {Group::files, file_options(line)},     {Group::launch, launch_options(line)},
          {Group::tensors, tensor_options(line)}, {Group::report, report_options(line)}};
}

}  // namespace kolo::config
