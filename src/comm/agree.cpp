#include "kolo/comm/agree.hpp"

#include <string>

#include "kolo/util/error_text.hpp"

namespace kolo::comm {

void throw_together(const Communicator& comm, const std::exception_ptr& mine, const std::string& place) {
  const std::int64_t candidate = mine ? comm.rank() : comm.size();
  const std::int64_t first = comm.all_reduce(candidate, Op::min);
  if (first == comm.size()) return;
  const int origin = static_cast<int>(first);
  util::ErrorText failure;
  if (comm.rank() == origin) failure = util::describe(mine);
  const auto code = comm.broadcast(static_cast<std::int64_t>(failure.code), origin);
  const std::string message = comm.broadcast(failure.message, origin);
  const std::string hint = comm.broadcast(failure.hint, origin);
  const std::string where = comm.broadcast(place, origin);
  throw AgreedError(static_cast<ExitCode>(code), message, hint, origin, comm.size(), where);
}

}  // namespace kolo::comm
