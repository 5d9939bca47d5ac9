// kolo's life cycle with a fault in it: the last rank throws what nobody agreed on while the others wait in a
// collective.
#include <exception>
#include <stdexcept>

#include "kolo/app/lifecycle.hpp"

int main(int argc, char** argv) {
  using namespace kolo;
  app::RunContext run;
  try {
    app::join_world(run, &argc, &argv);
    if (run.world().rank() == run.world().size() - 1) throw std::runtime_error("thrown on purpose");
    run.world().barrier();
    run.close();
    return static_cast<int>(ExitCode::finished);
  } catch (...) {
    return app::report_failure(run, std::current_exception());
  }
}
