#include "kolo/comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kolo/util/error.hpp"

namespace kolo::comm {
namespace {

MPI_Op to_mpi(Op op) {
  switch (op) {
    case Op::sum:
      return MPI_SUM;
    case Op::min:
      return MPI_MIN;
    case Op::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

// MPI-3 counts are int.  Pieces of 2^30 elements keep every library's internal byte counts in range as well.
constexpr std::size_t kPiece = std::size_t{1} << 30;

template <class T>
void reduce_in_pieces(std::span<T> values, MPI_Datatype type, Op op, MPI_Comm comm) {
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, values.size() - begin));
    KOLO_MPI(MPI_Allreduce(MPI_IN_PLACE, values.data() + begin, count, type, to_mpi(op), comm));
  }
}

template <class T>
std::vector<T> gather_scalars(T value, MPI_Datatype type, int size, MPI_Comm comm) {
  std::vector<T> all(static_cast<std::size_t>(size));
  KOLO_MPI(MPI_Allgather(&value, 1, type, all.data(), 1, type, comm));
  return all;
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(
      fmt::format("{} failed: {}", call, std::string_view(text, static_cast<std::size_t>(length))));
}

Communicator::Communicator(MPI_Comm handle) : handle_(handle) {
  KOLO_MPI(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN));
  KOLO_MPI(MPI_Comm_rank(handle_, &rank_));
  KOLO_MPI(MPI_Comm_size(handle_, &size_));
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  return *this;
}

Communicator Communicator::duplicate(MPI_Comm parent) {
  MPI_Comm handle = MPI_COMM_NULL;
  KOLO_MPI(MPI_Comm_dup(parent, &handle));
  return Communicator(handle);
}

Communicator Communicator::split_by_node() const {
  MPI_Comm handle = MPI_COMM_NULL;
  KOLO_MPI(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &handle));
  return Communicator(handle);
}

Communicator Communicator::split(int color) const {
  MPI_Comm handle = MPI_COMM_NULL;
  KOLO_MPI(MPI_Comm_split(handle_, color, rank_, &handle));
  return Communicator(handle);
}

void Communicator::close() {
  if (handle_ != MPI_COMM_NULL) KOLO_MPI(MPI_Comm_free(&handle_));
}

void Communicator::barrier() const { KOLO_MPI(MPI_Barrier(handle_)); }

void Communicator::all_reduce(std::span<double> values, Op op) const {
  reduce_in_pieces(values, MPI_DOUBLE, op, handle_);
}
void Communicator::all_reduce(std::span<float> values, Op op) const {
  reduce_in_pieces(values, MPI_FLOAT, op, handle_);
}
void Communicator::all_reduce(std::span<std::int64_t> values, Op op) const {
  reduce_in_pieces(values, MPI_INT64_T, op, handle_);
}

std::int64_t Communicator::all_reduce(std::int64_t value, Op op) const {
  all_reduce(std::span(&value, 1), op);
  return value;
}
double Communicator::all_reduce(double value, Op op) const {
  all_reduce(std::span(&value, 1), op);
  return value;
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, bytes.size() - begin));
    KOLO_MPI(MPI_Bcast(bytes.data() + begin, count, MPI_BYTE, root, handle_));
  }
}

std::string Communicator::broadcast(std::string_view text, int root) const {
  const auto size = broadcast(static_cast<std::int64_t>(text.size()), root);
  std::string result(rank_ == root ? text : std::string_view());
  result.resize(static_cast<std::size_t>(size));
  broadcast(std::as_writable_bytes(std::span(result)), root);
  return result;
}

std::int64_t Communicator::broadcast(std::int64_t value, int root) const {
  KOLO_MPI(MPI_Bcast(&value, 1, MPI_INT64_T, root, handle_));
  return value;
}

std::vector<std::string> Communicator::all_gather(std::string_view text) const {
  const std::vector<std::int64_t> sizes = all_gather(static_cast<std::int64_t>(text.size()));
  std::vector<int> counts, offsets;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    counts.push_back(static_cast<int>(size));
    offsets.push_back(static_cast<int>(total));
    total += size;
  }
  if (total > std::numeric_limits<int>::max()) {
    throw CommError(
        fmt::format("cannot gather {} bytes of text over {} ranks: the limit is 2 GiB", total, size_));
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  KOLO_MPI(MPI_Allgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(), counts.data(),
                          offsets.data(), MPI_CHAR, handle_));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(counts[i])));
  }
  return texts;
}

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
  return gather_scalars(value, MPI_INT64_T, size_, handle_);
}
std::vector<double> Communicator::all_gather(double value) const {
  return gather_scalars(value, MPI_DOUBLE, size_, handle_);
}

}  // namespace kolo::comm
