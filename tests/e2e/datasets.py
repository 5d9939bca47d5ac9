"""Small data sets in the formats kolo reads, the same bytes each time.

Images are noise around a level that depends on the label, so that a network can learn them.
"""
import random
import struct

CIFAR_RECORD = 1 + 3 * 32 * 32


def _image(label, pixels, generator):
    level = 20 + 20 * label
    return bytes(min(255, max(0, level + generator.randrange(-15, 16))) for _ in range(pixels))


def labels_of(count, classes=10):
    """0, 1, ... classes - 1, 0, 1, ..."""
    return [i % classes for i in range(count)]


def write_idx(directory, count=60, height=8, width=8, prefix="train"):
    """<prefix>-images-idx3-ubyte and <prefix>-labels-idx1-ubyte; returns the path of the images."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = random.Random(1)
    labels = labels_of(count)
    images = directory / f"{prefix}-images-idx3-ubyte"
    images.write_bytes(struct.pack(">IIII", 0x803, count, height, width) +
                       b"".join(_image(label, height * width, generator) for label in labels))
    (directory / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))
    return images


def write_cifar10(directory, count=20, files=5):
    """data_batch_<n>.bin and test_batch.bin with `count` records each; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = random.Random(2)
    for name in [f"data_batch_{n}.bin" for n in range(1, files + 1)] + ["test_batch.bin"]:
        (directory / name).write_bytes(
            b"".join(bytes([label]) + _image(label, CIFAR_RECORD - 1, generator) for label in labels_of(count)))
    return directory


def write_hdf5(path, count=60, height=8, width=8):
    """/train and /test with images and labels; needs h5py.  Returns the path."""
    import h5py  # only here: everything else works without it

    generator = random.Random(3)
    with h5py.File(path, "w") as file:
        for part in ("train", "test"):
            labels = labels_of(count)
            pixels = [list(_image(label, height * width, generator)) for label in labels]
            file.create_dataset(f"{part}/labels", data=labels)
            file.create_dataset(f"{part}/images", (count, height, width), "u1",
                                [[row[y * width:(y + 1) * width] for y in range(height)] for row in pixels])
    return path
