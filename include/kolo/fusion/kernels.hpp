// The few loops that read or write whole gradients, in one place so that each touches memory once.
#pragma once

#include <cstdint>

namespace kolo::fusion {

/// Copies `count` elements and returns whether every one of them is finite and of magnitude at most `limit`.
/// `limit` = largest finite value / world size guarantees that the sum over all ranks is finite too.
template <class T>
bool copy_checked(T* destination, const T* source, std::int64_t count, T limit);

/// sum = a + b, element by element; `sum` may be `a`.
template <class T>
void add(T* sum, const T* a, const T* b, std::int64_t count);

/// Sum of squares in fp64, added in blocks of fixed size counted from element 0: the same bits whoever calls
/// it.
template <class T>
double sum_of_squares(const T* values, std::int64_t count);

}  // namespace kolo::fusion
