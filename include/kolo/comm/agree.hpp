// Ranks fail together.
//
// `agree(comm, f)` runs f on every rank and then lets the ranks vote: when f threw anywhere, every rank
// throws the error of the lowest rank that failed, so that nobody is left waiting in a later collective.  f
// itself must not communicate over `comm` after a point where one rank can fail alone.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>

#include "kolo/comm/communicator.hpp"
#include "kolo/util/error.hpp"

namespace kolo::comm {

/// An Error that every rank of a communicator throws at the same place.  Where that is the whole job the
/// handler may finalize MPI and only rank 0 prints it; the ranks outside a smaller one know nothing of it.
struct AgreedError : Error {
  AgreedError(ExitCode code, const std::string& message, std::string hint, int origin, int size,
              std::string where = {})
      : Error(code, message, std::move(hint)), origin_rank(origin), ranks(size), place(std::move(where)) {}
  int origin_rank;    ///< in the communicator
  int ranks;          ///< that agreed
  std::string place;  ///< what the failed rank was doing, e.g. "step 17, forward"; empty: not said
};

/// Collective.  Returns when no rank passed an error; throws AgreedError on every rank otherwise.  `place`:
/// of this rank's error.
void throw_together(const Communicator& comm, const std::exception_ptr& mine, const std::string& place = {});

template <class F>
auto agree(const Communicator& comm, F&& f) -> std::invoke_result_t<F&> {
  using Result = std::invoke_result_t<F&>;
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    throw_together(comm, error);
  } else {
    std::optional<Result> result;
    try {
      result.emplace(f());
    } catch (...) {
      error = std::current_exception();
    }
    throw_together(comm, error);
    return std::move(*result);
  }
}

}  // namespace kolo::comm
