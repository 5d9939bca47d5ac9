#include "kolo/io/hdf5_image.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

namespace kolo::io {
namespace {

constexpr std::size_t kSmallestIncrement = 64 * 1024;

// HDF5 takes files of the same name for the same file.
std::string unused_name() {
  static std::atomic<unsigned> counter{0};
  return "memory image " + std::to_string(counter++);
}

Hdf5Properties access_properties(std::size_t increment) {
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "cannot make HDF5 file access properties");
  check_hdf5(H5Pset_fapl_core(access.id(), increment, false), "cannot choose HDF5's core driver");
  return access;
}

// HDF5 copies an image twice on its way into a file.  These callbacks, as in HDF5's own H5LTopen_file_image,
// hand the caller's memory through instead; it is opened read-only, so growing it never arises.
extern "C" {
void* lend_memory(size_t, H5FD_file_image_op_t, void* image) { return image; }
void* keep_memory(void* target, const void*, size_t, H5FD_file_image_op_t, void*) { return target; }
void* refuse_growth(void*, size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t leave_memory(void*, H5FD_file_image_op_t, void*) { return 0; }
void* share_image(void* image) { return image; }
herr_t leave_image(void*) { return 0; }
}

// "Open for writing" stands in the superblock while the file is open; H5Fget_file_image clears it as well.
void clear_open_flags(std::byte* superblock) {
  constexpr std::size_t kVersion = 8;
  const bool old = superblock[kVersion] < std::byte{2};
  const std::size_t offset = old ? 20 : 11;
  std::fill_n(superblock + offset, old ? 4 : 1, std::byte{0});
}

}  // namespace

Hdf5File create_memory_file(std::size_t expected_bytes, std::size_t user_block) {
  const Hdf5Properties access = access_properties(std::max(expected_bytes, kSmallestIncrement));
  const Hdf5Properties creation(H5Pcreate(H5P_FILE_CREATE), "cannot make HDF5 file creation properties");
  check_hdf5(H5Pset_userblock(creation.id(), user_block), "cannot reserve an HDF5 user block");
  return {H5Fcreate(unused_name().c_str(), H5F_ACC_TRUNC, creation.id(), access.id()),
          "cannot create an HDF5 file in memory"};
}

Hdf5Image::Hdf5Image(Hdf5File file) : file_(std::move(file)) {
  constexpr std::string_view kWhat = "cannot take the image of an HDF5 file";
  check_hdf5(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL), kWhat);
  const ssize_t size = H5Fget_file_image(file_.id(), nullptr, 0);
  if (size < 0) throw_hdf5_error(kWhat);
  const Hdf5Properties creation(H5Fget_create_plist(file_.id()), kWhat);
  hsize_t user_block = 0;
  check_hdf5(H5Pget_userblock(creation.id(), &user_block), kWhat);
  void* handle = nullptr;  // of the core driver: the address of its pointer to the file's memory
  check_hdf5(H5Fget_vfd_handle(file_.id(), H5P_DEFAULT, &handle), kWhat);
  std::byte* memory = *static_cast<std::byte**>(handle) + user_block;
  clear_open_flags(memory);
  bytes_ = {memory, static_cast<std::size_t>(size)};
}

Hdf5Image::~Hdf5Image() {
  if (!file_) return;
  const Hdf5Lock lock;
  file_ = Hdf5File();
}

Hdf5File open_image(std::span<const std::byte> image) {
  const Hdf5Properties access = access_properties(kSmallestIncrement);
  // HDF5's interface wants a pointer to non-const, but a read-only file is not written through it.
  void* memory = const_cast<std::byte*>(image.data());
  H5FD_file_image_callbacks_t callbacks{lend_memory, keep_memory, refuse_growth, leave_memory,
                                        share_image, leave_image, memory};
  check_hdf5(H5Pset_file_image_callbacks(access.id(), &callbacks), "cannot lend HDF5 a memory image");
  check_hdf5(H5Pset_file_image(access.id(), memory, image.size()), "cannot lend HDF5 a memory image");
  return {H5Fopen(unused_name().c_str(), H5F_ACC_RDONLY, access.id()), "HDF5 cannot open the file's content"};
}

}  // namespace kolo::io
