// What tests put in place of the empty util::fault_point.
//
// KOLO_FAULT=[RANK:]POINT:N:ACTION, or several with commas between, in the environment: at the N-th call
// (from 1) of fault_point(POINT) in this process - any point for "*" - do ACTION.  RANK limits it to one MPI
// rank.  Actions:
//   KILL, STOP, TERM, USR1, USR2, ...   send this signal to the own process
//   ENOSPC, EIO, EROFS, ...             let the system call fail with this errno
//   throw, bad_alloc                    throw std::runtime_error, std::bad_alloc
//   hang, slow                          sleep for ever, for half a second
#pragma once

#include <string>

namespace kolo::test {

/// Replaces what the environment says, and counts anew.  An empty text turns faults off.
void set_fault(const std::string& specification);
/// How often a fault point was passed since, or one of a name.
int passed(const std::string& point = "*");

}  // namespace kolo::test
