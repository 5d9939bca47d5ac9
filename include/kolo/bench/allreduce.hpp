// One size, strategy and type of `kolo bench allreduce`: the exchange a training step makes, without a model.
//
// Algorithm and bus bandwidth are those of nccl-tests: bytes / time, and that times 2 (n - 1) / n, the
// traffic of a link that no algorithm can avoid.
#pragma once

#include <cstdint>

#include "kolo/comm/communicator.hpp"
#include "kolo/config/config.hpp"
#include "kolo/util/dtype.hpp"

namespace kolo::bench {

struct AllreduceCase {
  config::Strategy strategy = config::Strategy::allreduce;  ///< shared or allreduce
  DType type = DType::f32;
  std::int64_t elements = 1;
};

struct AllreduceResult {
  double seconds = 0;        ///< median over the repetitions of the slowest rank's time
  double plain_seconds = 0;  ///< the same for one MPI_Allreduce of the same elements, in place
  bool correct = false;      ///< every element on every rank equals plain MPI's sum to rounding
};

/// Every rank contributes `elements` numbers and ends up seeing all sums.  A large message is repeated less
/// often than asked for: no new repetition begins after about 2 s (0.5 s of warm-up), once 5 are done.
/// Throws CommError where `shared` has no room; see fusion::choose_strategy.  Collective.
AllreduceResult measure_allreduce(const AllreduceCase& what, const comm::Communicator& world, int warmup,
                                  int repetitions);

}  // namespace kolo::bench
