#include "kolo/util/error_text.hpp"

#include <new>
#include <system_error>

namespace kolo::util {
namespace {

constexpr const char* kMemoryHint =
    "kolo check estimates what a rank needs; use fewer samples a pass (train.batch_per_rank) or fewer ranks "
    "a "
    "node";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

ErrorText describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return {e.code(), first_line(e.what()), e.hint()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::internal, "out of memory", kMemoryHint};
  } catch (const std::system_error& e) {
    // What std::thread throws says nothing of threads.
    if (e.code() == std::errc::resource_unavailable_try_again)
      return {ExitCode::internal, std::string("cannot start a thread: ") + e.what(),
              "memory or the number of processes is limited: ulimit -v, ulimit -u, the job's control group"};
    return {ExitCode::internal, first_line(e.what()), ""};
  } catch (const std::exception& e) {
    const std::string message = first_line(e.what());
    // libtorch's allocator throws an error of its own.
    if (message.find("can't allocate memory") != std::string::npos)
      return {ExitCode::internal, "out of memory: " + message, kMemoryHint};
    return {ExitCode::internal, message, ""};
  } catch (...) {
    return {ExitCode::internal, "an exception that is not a std::exception", ""};
  }
}

}  // namespace kolo::util
