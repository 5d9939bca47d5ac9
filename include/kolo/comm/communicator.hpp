// A duplicated MPI communicator with checked, typed collectives.
//
// Every MPI call of kolo is checked in every build and quotes itself in its error.  A Communicator belongs to
// the thread that talks to MPI.  The destructor never calls MPI (freeing is collective, and a rank that
// unwinds alone would wait for ever); `close()` frees it, collectively.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kolo::comm {

/// Throws CommError naming `call` unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);
#define KOLO_MPI(call) ::kolo::comm::check_mpi((call), #call)

enum class Op { sum, min, max };

class Communicator {
 public:
  /// Duplicates `parent`; errors are returned, not fatal.  Collective.
  static Communicator duplicate(MPI_Comm parent);
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  /// The ranks that share memory with this one, in rank order.  Collective.
  Communicator split_by_node() const;
  /// Ranks with the same colour, in rank order.  Collective.
  Communicator split(int color) const;
  void close();

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm handle() const { return handle_; }

  void barrier() const;
  /// In place, the same result on every rank.
  void all_reduce(std::span<double> values, Op op) const;
  void all_reduce(std::span<float> values, Op op) const;
  void all_reduce(std::span<std::int64_t> values, Op op) const;
  std::int64_t all_reduce(std::int64_t value, Op op) const;
  double all_reduce(double value, Op op) const;
  /// Any size; chunks above 2 GiB.
  void broadcast(std::span<std::byte> bytes, int root) const;
  /// `text` of `root` on every rank; ignored on the others.
  std::string broadcast(std::string_view text, int root) const;
  std::int64_t broadcast(std::int64_t value, int root) const;
  /// One text from every rank in rank order on every rank.
  std::vector<std::string> all_gather(std::string_view text) const;
  std::vector<std::int64_t> all_gather(std::int64_t value) const;
  std::vector<double> all_gather(double value) const;

 private:
  explicit Communicator(MPI_Comm handle);
  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace kolo::comm
