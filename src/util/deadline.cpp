#include "kolo/util/deadline.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace kolo::util {

bool finishes_within(double seconds, std::function<void()> work) {
  std::promise<void> done;
  std::future<void> end = done.get_future();
  std::thread([work = std::move(work), done = std::move(done)]() mutable {
    try {
      work();
    } catch (...) {
      // Nobody may be there any more to hear of it.
    }
    done.set_value();
  }).detach();
  return end.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
}

}  // namespace kolo::util
