#include "kolo/config/command_line.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "errors.hpp"
#include "kolo/config/option_table.hpp"

namespace kolo::config {
namespace {

using test::caught;
using testing::ElementsAre;
using testing::HasSubstr;

CommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "kolo");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

test::Caught error_of(const std::vector<const char*>& arguments) {
  return caught([&] { parse(arguments); });
}

TEST(CommandLine, NothingMeansATrainingRunWithDefaults) {
  const CommandLine line = parse({});
  EXPECT_EQ(line.command, Command::train);
  EXPECT_FALSE(line.help || line.version);
  EXPECT_EQ(line.input + line.run_dir, "");
  EXPECT_TRUE(line.sets.empty());
  EXPECT_EQ(line.resume, Resume::off);
  EXPECT_FALSE(line.stop_after_epochs || line.max_seconds);
}

TEST(CommandLine, EveryOptionReachesItsMember) {
  const CommandLine line =
      parse({"--input", "a b.ini", "--set", "optimizer.lr=0.1", "--run-dir=runs/a", "--set",
             "data.path=x = y", "--resume", "auto", "--stop-after-epochs", "3", "--max-time", "01:02:03"});
  EXPECT_EQ(line.input, "a b.ini");
  EXPECT_THAT(line.sets, ElementsAre("optimizer.lr=0.1", "data.path=x = y"));
  EXPECT_EQ(line.run_dir, "runs/a");
  EXPECT_EQ(line.resume, Resume::automatic);
  EXPECT_EQ(line.stop_after_epochs, 3);
  EXPECT_EQ(line.max_seconds, 3723);
}

TEST(CommandLine, CommandMayStandAnywhereAmongOptions) {
  EXPECT_EQ(parse({"check"}).command, Command::check);
  EXPECT_EQ(parse({"check", "--input", "x"}).command, Command::check);
  EXPECT_EQ(parse({"--input", "x", "check"}).command, Command::check);
  EXPECT_EQ(parse({"train", "--run-dir", "x"}).command, Command::train);
}

TEST(CommandLine, HelpAndVersionNeedNothingElse) {
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_TRUE(parse({"check", "--help"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
}

TEST(CommandLine, UnknownOptionGetsTheNearest) {
  EXPECT_EQ(error_of({"--inptu", "x"}).message, "unknown option --inptu");
  EXPECT_EQ(error_of({"--inptu", "x"}).hint, "did you mean --input?");
  EXPECT_THAT(error_of({"--frobnicate"}).hint, HasSubstr("--help"));
  EXPECT_THAT(error_of({"-x"}).message, HasSubstr("unknown option -x"));
}

TEST(CommandLine, OptionsAreNotGuessedFromPrefixes) {
  EXPECT_EQ(error_of({"--inp", "x"}).message, "unknown option --inp");
  EXPECT_EQ(error_of({"--vers"}).message, "unknown option --vers");
}

TEST(CommandLine, UnknownCommandGetsTheNearest) {
  EXPECT_EQ(error_of({"chekc"}).message, "unknown command chekc");
  EXPECT_EQ(error_of({"chekc"}).hint, "did you mean check?");
  EXPECT_THAT(error_of({"frobnicate"}).hint, HasSubstr("--help"));
  EXPECT_THAT(error_of({"deck.ini"}).hint, HasSubstr("--input"));
  EXPECT_EQ(error_of({""}).message, "unknown command ");
}

TEST(CommandLine, ArgumentsLeftOverAreRefused) {
  EXPECT_EQ(error_of({"check", "deck.ini"}).message, "kolo check: unexpected argument deck.ini");
  EXPECT_EQ(error_of({"--set", "a.b=c", "train", "--", "--input"}).message,
            "kolo train: unexpected argument --input");
}

TEST(CommandLine, CommandRefusesOptionsThatAreNotItsOwn) {
  EXPECT_EQ(error_of({"check", "--run-dir", "x"}).message, "kolo check takes no --run-dir");
  EXPECT_EQ(error_of({"--max-time", "00:00:01", "check"}).message, "kolo check takes no --max-time");
}

TEST(CommandLine, BenchNeedsToKnowWhat) {
  EXPECT_EQ(error_of({"bench"}).message,
            "kolo bench: nothing follows: expected one of train, allreduce, data, checkpoint");
  EXPECT_EQ(error_of({"bench", "tarin"}).message,
            "kolo bench: tarin: expected one of train, allreduce, data, checkpoint");
  EXPECT_EQ(error_of({"bench", "tarin"}).hint, "did you mean train?");
  EXPECT_EQ(error_of({"bench", "train", "more"}).message, "kolo bench: unexpected argument more");
}

TEST(CommandLine, BenchmarkOptionsReachTheirMembers) {
  const CommandLine line = parse({"bench", "train", "--steps", "7", "--warmup", "0", "--json", "out.json"});
  EXPECT_EQ(line.command, Command::bench);
  EXPECT_EQ(line.topic, "train");
  EXPECT_EQ(line.steps, 7);
  EXPECT_EQ(line.warmup, 0);
  EXPECT_EQ(line.json, "out.json");
  EXPECT_EQ(error_of({"--steps", "0", "bench", "train"}).message,
            "--steps 0: expected an integer from 1 to 1000000");
  EXPECT_EQ(error_of({"train", "--json", "x"}).message, "kolo train takes no --json");
}

TEST(CommandLine, MessageSizesAreBytesWithBinaryUnits) {
  const CommandLine line = parse({"bench", "allreduce", "--min-bytes", "12", "--max-bytes", "3MiB"});
  EXPECT_EQ(line.min_bytes, 12);
  EXPECT_EQ(line.max_bytes, 3 << 20);
  EXPECT_EQ(parse({"bench", "allreduce", "--max-bytes", "2G"}).max_bytes, std::int64_t{2} << 30);
  for (const char* bad : {"0", "-1", "K", "1T", "1.5M", "65G", " 4"}) {
    EXPECT_THAT(error_of({"bench", "allreduce", "--max-bytes", bad}).message,
                HasSubstr("expected bytes from 1 to 64G"))
        << bad;
  }
  EXPECT_EQ(error_of({"bench", "allreduce", "--max-bytes", "1K"}).message,
            "--max-bytes 1024: expected at least --min-bytes, which is 4096");
  EXPECT_EQ(error_of({"bench", "train", "--max-bytes", "1M"}).message,
            "kolo bench train takes no --max-bytes");
}

TEST(CommandLine, PlanAndDoctorTakeTheirOwnOptions) {
  EXPECT_EQ(parse({"plan", "--launcher", "srun"}).launcher, Launcher::srun);
  EXPECT_EQ(parse({"plan"}).launcher, Launcher::mpirun);
  EXPECT_EQ(error_of({"plan", "--launcher", "qsub"}).message,
            "--launcher qsub: expected one of mpirun, srun");
  EXPECT_EQ(parse({"doctor", "--json", "x"}).json, "x");
  EXPECT_EQ(error_of({"doctor", "--steps", "3"}).message, "kolo doctor takes no --steps");
}

TEST(CommandLine, InspectAndVerifyTakeOneOperandAndNoDeck) {
  const CommandLine line = parse({"inspect", "a/b.h5", "--tensors", "--json", "x"});
  EXPECT_EQ(line.command, Command::inspect);
  EXPECT_EQ(line.operand, "a/b.h5");
  EXPECT_TRUE(line.tensors);
  EXPECT_EQ(line.json, "x");
  EXPECT_EQ(parse({"verify", "runs/a"}).operand, "runs/a");
  EXPECT_EQ(error_of({"inspect"}).message, "kolo inspect: nothing follows: expected FILE");
  EXPECT_EQ(error_of({"verify", ""}).message, "kolo verify: nothing follows: expected DIR");
  EXPECT_EQ(error_of({"verify", "a", "b"}).message, "kolo verify: unexpected argument b");
  EXPECT_EQ(error_of({"verify", "a", "--tensors"}).message, "kolo verify takes no --tensors");
  EXPECT_EQ(error_of({"inspect", "a", "--set", "run.seed=1"}).message, "kolo inspect takes no --set");
  EXPECT_EQ(error_of({"train", "a.h5"}).message, "kolo train: unexpected argument a.h5");
}

TEST(CommandLine, InitFromIsAnOptionOfTraining) {
  EXPECT_EQ(parse({"--init-from", "a.h5"}).init_from, "a.h5");
  EXPECT_EQ(error_of({"check", "--init-from", "a.h5"}).message, "kolo check takes no --init-from");
}

TEST(CommandLine, MissingRepeatedOrSurplusValuesAreRefused) {
  EXPECT_THAT(error_of({"--input"}).message, HasSubstr("'--input' is missing"));
  EXPECT_EQ(error_of({"--run-dir", "--set", "a.b=c"}).message, "--run-dir: found --set: expected a value");
  EXPECT_EQ(error_of({"--set", "--help"}).message, "--set: found --help: expected a value");
  EXPECT_THAT(error_of({"--input", "a", "--input", "b"}).message, HasSubstr("more than once"));
  EXPECT_THAT(error_of({"--stop-after-epochs", "1", "--stop-after-epochs", "1"}).message,
              HasSubstr("more than once"));
  EXPECT_THAT(error_of({"--help=yes"}).message, HasSubstr("'--help'"));
}

TEST(CommandLine, EmptyPathsAreRefused) {
  EXPECT_EQ(error_of({"--input", ""}).message, "--input : expected a path");
  EXPECT_EQ(error_of({"--run-dir", ""}).message, "--run-dir : expected a path");
}

TEST(CommandLine, ResumeTakesItsThreeValues) {
  EXPECT_EQ(parse({"--resume", "off"}).resume, Resume::off);
  EXPECT_EQ(parse({"--resume", "required", "--run-dir", "x"}).resume, Resume::required);
  EXPECT_EQ(parse({"--resume", "auto", "--run-dir", "x"}).resume, Resume::automatic);
  EXPECT_EQ(error_of({"--resume", "yes"}).message, "--resume yes: expected one of off, auto, required");
}

TEST(CommandLine, ResumingNeedsANamedDirectory) {
  for (const std::string resume : {"auto", "required"})
    EXPECT_EQ(error_of({"--resume", resume.c_str()}).message,
              "--resume " + resume + ": there is no --run-dir to go on in");
}

TEST(CommandLine, StopAfterEpochsIsAWholeNumberFromOne) {
  EXPECT_EQ(error_of({"--stop-after-epochs", "ten"}).message,
            "--stop-after-epochs ten: expected an integer from 1 to 1000000");
  for (const char* bad : {"0", "1.5", "1e3", "", "9999999999999999999999", "3x"}) {
    EXPECT_THAT(error_of({"--stop-after-epochs", bad}).message, HasSubstr("expected an integer")) << bad;
  }
}

TEST(CommandLine, MaxTimeIsHoursMinutesSeconds) {
  EXPECT_EQ(parse({"--max-time", "0:00:01"}).max_seconds, 1);
  EXPECT_EQ(parse({"--max-time", "100:00:00"}).max_seconds, 360000);
  EXPECT_EQ(parse({"--max-time", "00:59:59"}).max_seconds, 3599);
  for (const char* bad :
       {"", "5", "10:00", "00:00:00", "1:2:3", "00:60:00", "00:00:60", "-1:00:00", "a:00:00", "00:00:00.5",
        "1:00:00:00", ":00:01", "99999999999999999999:00:00", "+1:00:00"}) {
    EXPECT_THAT(error_of({"--max-time", bad}).message, HasSubstr("expected HH:MM:SS")) << bad;
  }
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(HelpText, EachDeckKeyIsDocumentedOnce) {
  Config config;
  const OptionTable table(config);
  const std::string help = help_text();
  for (const Option& option : table.options()) {
    EXPECT_EQ(occurrences(help, "\n  " + option.key() + " ="), 1U) << option.key();
    EXPECT_THAT(help, HasSubstr(option.help)) << option.key();
    EXPECT_THAT(help, HasSubstr(option.expected)) << option.key();
  }
}

TEST(HelpText, NamesCommandsOptionsAndExitCodes) {
  const std::string help = help_text();
  for (const char* part : {"  train ", "  check ", "--input FILE", "--set section.key=value", "--run-dir DIR",
                           "--resume off|auto|required", "--stop-after-epochs N", "--max-time HH:MM:SS",
                           "--help", "--version"}) {
    EXPECT_EQ(occurrences(help, part) > 0, true) << part;
  }
  for (const char* code : {"0", "1", "2", "3", "4", "5", "6"}) {
    EXPECT_EQ(occurrences(help, "\n    " + std::string(code) + " "), 1U) << code;
  }
  EXPECT_EQ(occurrences(help, "\n   75 "), 1U);
}

TEST(HelpText, LinesEndWithoutBlanks) { EXPECT_EQ(occurrences(help_text(), " \n"), 0U); }

}  // namespace
}  // namespace kolo::config
