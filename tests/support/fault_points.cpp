#include "support/fault_points.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kolo/util/fault_point.hpp"
#include "kolo/util/strings.hpp"

namespace kolo::test {
namespace {

struct Fault {
  std::string point;
  int number = 0;  // 0: no fault
  std::string action;
};

Fault parse(const std::string& specification) {
  std::vector<std::string> parts = util::split(specification, ':');
  if (parts.size() == 4) {
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (parts[0] != (rank != nullptr ? rank : "0")) return {};
    parts.erase(parts.begin());
  }
  if (parts.size() != 3) return {};
  return {parts[0], std::atoi(parts[1].c_str()), parts[2]};
}

std::vector<Fault> parse_all(const std::string& specifications) {
  std::vector<Fault> faults;
  for (const std::string& specification : util::split(specifications, ','))
    faults.push_back(parse(specification));
  return faults;
}

struct State {
  std::mutex mutex;
  std::vector<Fault> faults;
  std::map<std::string, int> counts;
  int all = 0;

  State() {
    if (const char* text = std::getenv("KOLO_FAULT")) faults = parse_all(text);
  }
};

State& state() {
  static State instance;
  return instance;
}

const std::map<std::string, int> kSignals = {{"KILL", SIGKILL}, {"STOP", SIGSTOP}, {"TERM", SIGTERM},
                                             {"INT", SIGINT},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                             {"SEGV", SIGSEGV}};
const std::map<std::string, int> kErrors = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EROFS", EROFS},
                                            {"EDQUOT", EDQUOT}, {"ENOENT", ENOENT}, {"EINTR", EINTR}};

int act(const std::string& action) {
  if (const auto signal = kSignals.find(action); signal != kSignals.end()) {
    ::kill(getpid(), signal->second);
    return 0;
  }
  if (const auto error = kErrors.find(action); error != kErrors.end()) return error->second;
  if (action == "throw") throw std::runtime_error("thrown on purpose");
  if (action == "bad_alloc") throw std::bad_alloc();
  if (action == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(500));
  if (action == "hang")
    while (true)
      pause();
  return 0;
}

}  // namespace

void set_fault(const std::string& specification) {
  const std::scoped_lock lock(state().mutex);
  state().faults = parse_all(specification);
  state().counts.clear();
  state().all = 0;
}

int passed(const std::string& point) {
  const std::scoped_lock lock(state().mutex);
  return point == "*" ? state().all : state().counts[point];
}

}  // namespace kolo::test

namespace kolo::util {

int fault_point(const char* name) {
  test::State& state = test::state();
  std::string action;
  {
    const std::scoped_lock lock(state.mutex);
    const int of_all = ++state.all, of_name = ++state.counts[name];
    for (const test::Fault& fault : state.faults) {
      const bool any = fault.point == "*";
      if ((any || fault.point == name) && (any ? of_all : of_name) == fault.number) action = fault.action;
    }
  }
  return action.empty() ? 0 : test::act(action);
}

}  // namespace kolo::util
