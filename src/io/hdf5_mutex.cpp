#include "kolo/io/hdf5_mutex.hpp"

namespace kolo::io {

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace kolo::io
