// One background thread that carries out tasks in the order they were submitted.
//
// For work that must not hold up the caller but must not be lost either: a task that throws ends the series
// (later ones are dropped), and its exception waits for the next check() or wait().  The destructor carries
// out what was submitted before it lets go.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace kolo::util {

class WorkerThread {
 public:
  WorkerThread();
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void submit(std::function<void()> task);
  /// Throws what a task has thrown, at every further call.
  void check();
  /// The same after all tasks are done.
  void wait();

 private:
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace kolo::util
