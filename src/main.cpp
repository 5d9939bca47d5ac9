// kolo: trains neural networks on many processes at once.
#include <exception>

#include "kolo/app/lifecycle.hpp"

int main(int argc, char** argv) {
  using namespace kolo;
  app::RunContext run;  // outside the try: it may only be destroyed when all ranks leave together
  try {
    app::read_command_line(run, argc, argv);
    if (app::answer_without_mpi(run)) return static_cast<int>(ExitCode::finished);
    if (const auto code = app::run_without_mpi(run)) return static_cast<int>(*code);
    app::join_world(run, &argc, &argv);
    app::load_deck(run);
    app::prepare_machine(run);
    const ExitCode code = app::run_command(run);
    run.close();
    return static_cast<int>(code);
  } catch (...) {
    return app::report_failure(run, std::current_exception());
  }
}
