#include "kolo/comm/mpi_facts.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

#include "kolo/comm/communicator.hpp"
#include "kolo/comm/mpi_session.hpp"

namespace kolo::comm {
namespace {

constexpr int kTextSize = 1024;
using Text = std::array<char, kTextSize>;

// The tool interface counts its users, like MPI itself.
class ToolInterface {
 public:
  ToolInterface() {
    int level = 0;
    KOLO_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
  }
  ToolInterface(const ToolInterface&) = delete;
  ToolInterface& operator=(const ToolInterface&) = delete;
  ~ToolInterface() { MPI_T_finalize(); }

  std::set<std::string> categories() const {
    std::set<std::string> names;
    int count = 0;
    KOLO_MPI(MPI_T_category_get_num(&count));
    for (int i = 0; i < count; ++i) {
      Text name{}, description{};
      int name_size = kTextSize, description_size = kTextSize, variables = 0, counters = 0, nested = 0;
      // Categories of components that were closed again answer with an error.
      if (MPI_T_category_get_info(i, name.data(), &name_size, description.data(), &description_size,
                                  &variables, &counters, &nested) == MPI_SUCCESS)
        names.insert(name.data());
    }
    return names;
  }

  /// The name of an enumerated variable's value; empty when there is no such variable.
  std::string value_of(const char* variable) const {
    int index = 0;
    if (MPI_T_cvar_get_index(variable, &index) != MPI_SUCCESS) return "";
    Text name{}, description{};
    int name_size = kTextSize, description_size = kTextSize, verbosity = 0, bind = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(index, name.data(), &name_size, &verbosity, &type, &names, description.data(),
                            &description_size, &bind, &scope) != MPI_SUCCESS)
      return "";
    if (type != MPI_INT || names == MPI_T_ENUM_NULL) return "";
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0, value = 0;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
    const bool read = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return read ? name_in(names, value) : "";
  }

 private:
  static std::string name_in(MPI_T_enum names, int wanted) {
    Text name{};
    int count = 0, size = kTextSize;
    MPI_T_enum_get_info(names, &count, name.data(), &size);
    for (int i = 0; i < count; ++i) {
      int value = 0;
      size = kTextSize;
      if (MPI_T_enum_get_item(names, i, &value, name.data(), &size) == MPI_SUCCESS && value == wanted)
        return name.data();
    }
    return "";
  }
};

std::vector<std::string> components(const std::set<std::string>& categories, std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::string& category : categories) {
    if (category.starts_with(prefix) && category != std::string(prefix) + "base")
      names.push_back(category.substr(prefix.size()));
  }
  return names;
}

std::vector<std::string> settings_in_force() {
  constexpr std::string_view kPrefix = "OMPI_MCA_";
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view setting = *entry;
    if (!setting.starts_with(kPrefix)) continue;
    for (const std::string_view topic : {"btl", "pml", "mtl", "coll", "osc", "hwloc", "rmaps", "mpi_yield"}) {
      if (setting.substr(kPrefix.size()).starts_with(topic)) settings.emplace_back(setting);
    }
  }
  std::ranges::sort(settings);
  return settings;
}

// "Open MPI v4.1.4, package: ..." -> 4
int major_in(const std::string& library) {
  const auto at = library.find_first_of("0123456789");
  return at == std::string::npos ? 0 : std::atoi(library.c_str() + at);
}

}  // namespace

MpiFacts look_at_mpi() {
  MpiFacts facts;
  facts.library = mpi_library();
#ifdef OMPI_MAJOR_VERSION
  facts.library_major = major_in(facts.library);
  facts.header_major = OMPI_MAJOR_VERSION;
#endif
  int level = MPI_THREAD_SINGLE;
  KOLO_MPI(MPI_Query_thread(&level));
  facts.multithreaded = level == MPI_THREAD_MULTIPLE;
  facts.thread_level = thread_level_name(level);
  const ToolInterface tools;
  const std::set<std::string> categories = tools.categories();
  facts.messaging = components(categories, "ompi_pml_");
  facts.transports = components(categories, "opal_btl_");
  facts.single_copy = tools.value_of("btl_vader_single_copy_mechanism");
  int scope = 0;
  if (std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope) facts.ptrace_scope = scope;
  facts.settings = settings_in_force();
  return facts;
}

}  // namespace kolo::comm
