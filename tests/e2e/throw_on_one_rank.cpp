// kolo's life cycle with a fault in it: the last rank throws what nobody agreed on, or what only a group of
// its own agreed on (argument "group"), while the others wait in a collective.
#include <exception>
#include <stdexcept>
#include <string_view>

#include "kolo/app/lifecycle.hpp"
#include "kolo/comm/agree.hpp"

int main(int argc, char** argv) {
  using namespace kolo;
  const bool in_group = argc > 1 && std::string_view(argv[1]) == "group";
  app::RunContext run;
  try {
    app::join_world(run, &argc, &argv);
    const auto fail = [] { throw std::runtime_error("thrown on purpose"); };
    if (run.world().rank() == run.world().size() - 1) {
      if (!in_group) fail();
      comm::agree(comm::Communicator::duplicate(MPI_COMM_SELF), fail);
    }
    run.world().barrier();
    run.close();
    return static_cast<int>(ExitCode::finished);
  } catch (...) {
    return app::report_failure(run, std::current_exception());
  }
}
