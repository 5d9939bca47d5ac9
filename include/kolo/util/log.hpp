// What a run says: plain lines on standard output, the same lines with a time stamp in <run>/log.txt.
//
// Only rank 0 logs; on the other ranks the log is off.  Hidden behind a torch-free file because spdlog and
// libtorch bring different versions of fmt.  Not for errors that end the run: those go through app's one
// error line.  Any thread.
#pragma once

#include <filesystem>
#include <string_view>

namespace kolo::util {

enum class LogTarget { console_and_file, file_only };

/// Turns the log on or off for this process (off at start).
void enable_log(bool on);
/// Appends to `path` from now on; lines logged before are written to it first.  Throws Error when it cannot
/// be opened.
void open_log_file(const std::filesystem::path& path);
/// One line without trailing newline.
void log(std::string_view line, LogTarget target = LogTarget::console_and_file);
/// Writes `warning: ` before the line.
void log_warning(std::string_view line);
void close_log_file();

}  // namespace kolo::util
