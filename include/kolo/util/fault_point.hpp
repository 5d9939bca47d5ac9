// Named places where tests make things go wrong.
//
// In what ships this does nothing: the function is empty.  Test programs link tests/support/fault_points.cpp
// in its place, which kills the process, throws, or lets the n-th call of a name fail, as an environment
// variable says.
#pragma once

namespace kolo::util {

/// The errno with which the system call named `name` is to fail here; 0: go on.
int fault_point(const char* name);

}  // namespace kolo::util
