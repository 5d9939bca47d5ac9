// The one lock around HDF5.
//
// The serial HDF5 library of most distributions is not built thread-safe, and a run has several threads that
// may want it: the step's, the data loader's, the checkpoint writer's.  Invariant: no HDF5 function is called
// by a thread that does not hold this mutex.  It is not recursive: functions that lock say so, helpers that
// expect it locked say so.
#pragma once

#include <mutex>

namespace kolo::io {

std::mutex& hdf5_mutex();

}  // namespace kolo::io
