#include "kolo/comm/agree.hpp"

#include <string>

namespace kolo::comm {
namespace {

struct Failure {
  ExitCode code = ExitCode::internal;
  std::string message;
  std::string hint;
};

Failure describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return {e.code(), e.what(), e.hint()};
  } catch (const std::exception& e) {
    return {ExitCode::internal, e.what(), ""};
  } catch (...) {
    return {ExitCode::internal, "an exception that is not a std::exception", ""};
  }
}

}  // namespace

void throw_together(const Communicator& comm, const std::exception_ptr& mine) {
  const std::int64_t candidate = mine ? comm.rank() : comm.size();
  const std::int64_t first = comm.all_reduce(candidate, Op::min);
  if (first == comm.size()) return;
  const int origin = static_cast<int>(first);
  Failure failure;
  if (comm.rank() == origin) failure = describe(mine);
  const auto code = comm.broadcast(static_cast<std::int64_t>(failure.code), origin);
  const std::string message = comm.broadcast(failure.message, origin);
  const std::string hint = comm.broadcast(failure.hint, origin);
  throw AgreedError(static_cast<ExitCode>(code), message, hint, origin, comm.size());
}

}  // namespace kolo::comm
