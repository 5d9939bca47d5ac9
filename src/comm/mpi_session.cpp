#include "kolo/comm/mpi_session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace kolo::comm {
namespace {

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

}  // namespace

MpiSession MpiSession::start(int* argc, char*** argv) {
  int level = MPI_THREAD_SINGLE;
  KOLO_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level));
  if (level < MPI_THREAD_FUNNELED) {
    throw CommError(
        fmt::format("MPI offers thread level {}, expected funneled or more", thread_level_name(level)));
  }
  Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
  Communicator node = world.split_by_node();
  return MpiSession(std::move(world), std::move(node), level);
}

MpiSession::MpiSession(Communicator world, Communicator node, int thread_level)
    : world_(std::move(world)),
      node_(std::move(node)),
      thread_level_(thread_level),
      host_(host_name()),
      hosts_(world_.all_gather(host_)) {}

void MpiSession::make_board() { board_ = NodeBoard::make(world_, node_); }

void MpiSession::finalize() {
  board_.close();
  node_.close();
  world_.close();
  KOLO_MPI(MPI_Finalize());
}

void MpiSession::abort(ExitCode code) const {
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

void abort_if_started(ExitCode code) {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started != 0 && ended == 0) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
}

std::string thread_level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "single";
    case MPI_THREAD_FUNNELED:
      return "funneled";
    case MPI_THREAD_SERIALIZED:
      return "serialized";
    case MPI_THREAD_MULTIPLE:
      return "multiple";
    default:
      return fmt::format("{}", level);
  }
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown MPI";
  std::string library(text, static_cast<std::size_t>(length));
  library = library.substr(0, library.find_first_of(",\n"));
#ifdef OMPI_MAJOR_VERSION
  library +=
      fmt::format(" (compiled with {}.{}.{})", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#endif
  return library;
}

}  // namespace kolo::comm
