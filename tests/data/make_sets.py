#!/usr/bin/env python3
"""Writes the tiny data sets of this folder, with other tools than kolo's own: needs h5py and numpy.

Every set has 12 training and 6 test samples.  Pixel (c, y, x) of sample i is (31 i + 17 c + 5 y + 3 x + s) mod 256, label i
is (3 i + s) mod classes, where s is 0 for training and 1 for test samples; tests compute the same.
"""
import gzip
import pathlib
import struct

import h5py
import numpy

HERE = pathlib.Path(__file__).parent
PARTS = {"train": (12, 0), "test": (6, 1)}


def images(count, s, channels, height, width):
    i, c, y, x = numpy.indices((count, channels, height, width))
    return ((31 * i + 17 * c + 5 * y + 3 * x + s) % 256).astype(numpy.uint8)


def labels(count, s, classes):
    return ((3 * numpy.arange(count) + s) % classes).astype(numpy.uint8)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def make_idx():
    for part, prefix in (("train", "train"), ("test", "t10k")):
        count, s = PARTS[part]
        pixels = idx(images(count, s, 1, 6, 5)[:, 0])
        classes = idx(labels(count, s, 4))
        write(HERE / "idx" / f"{prefix}-images-idx3-ubyte", pixels)
        write(HERE / "idx" / f"{prefix}-labels-idx1-ubyte", classes)
        write(HERE / "idx_gz" / f"{prefix}-images-idx3-ubyte.gz", gzip.compress(pixels, mtime=0))
        write(HERE / "idx_gz" / f"{prefix}-labels-idx1-ubyte.gz", gzip.compress(classes, mtime=0))


def cifar100(count, s):
    fine = labels(count, s, 100)
    records = images(count, s, 3, 32, 32).reshape(count, -1)
    return numpy.column_stack([fine // 5, fine, records]).astype(numpy.uint8).tobytes()


def make_cifar100():
    for part, (count, s) in PARTS.items():
        write(HERE / "cifar100" / f"{part}.bin", cifar100(count, s))
    names = "".join(f"class {k}\n" for k in range(100))
    write(HERE / "cifar100" / "fine_label_names.txt", names.encode())


def make_hdf5(name, dtype, channels_last):
    with h5py.File(HERE / name, "w", track_order=False) as file:
        for part, (count, s) in PARTS.items():
            pixels = images(count, s, 3, 6, 5)
            if channels_last:
                pixels = pixels.transpose(0, 2, 3, 1)
            if dtype != "u1":
                pixels = pixels / 255.0
            file.create_dataset(f"{part}/images", data=pixels.astype(dtype), chunks=True, compression="gzip")
            file.create_dataset(f"{part}/labels", data=labels(count, s, 4).astype("i4"))
        file.attrs["class_names"] = ["one", "two", "three", "four"]


make_idx()
make_cifar100()
make_hdf5("bytes.h5", "u1", channels_last=False)
make_hdf5("floats.h5", "f4", channels_last=True)
