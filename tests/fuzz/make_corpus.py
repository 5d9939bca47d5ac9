#!/usr/bin/env python3
"""Writes the seeds of tests/data/fuzz: small inputs for each fuzz target, right ones and nearly right ones.

The comment at the top of each *_target.cpp says what its bytes mean.  Needs nothing but Python.
"""
import gzip
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent / "data" / "fuzz"


def write(target, name, data):
    folder = ROOT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def make_decks():
    sets = [b"run.seed=7", b"optimizer.lr = 1e-3", b"data.mean=0.5, 0.5, 0.5"]
    lists = b"""[schedule]
name = multistep
milestones = 1, 2.5, 3
gamma = 0.1
warmup_epochs = 0.5
[data]
format = cifar10
path = /data/with blanks/cifar#10 # a comment
mean = 0.49, 0.48, 0.45
std = 0.25, 0.24, 0.26
[run]
dtype = fp64
progress = none
"""
    numbers = b"""[optimizer]
lr = 4.9406564584124654e-324
momentum = 0.9
nesterov = on
weight_decay = 0.0005
scale_lr = linear
reference_batch = 256
[train]
epochs = 3
max_steps = 9223372036854775807
batch_per_rank = 64
[checkpoint]
every_steps = 100
"""
    windows = b"\xef\xbb\xbf[run]\r\nseed = 3\r\n\r\n# a comment\r\n[ train ]\r\nepochs=1\r\n"
    write("deck", "lists.deck", lists)
    write("deck", "numbers.deck", numbers)
    write("deck", "windows.deck", windows)
    write("deck", "sets_only.deck", b"\xff" + b"\xff".join(sets))
    write("deck", "deck_and_sets.deck", windows + b"\xff" + b"\xff".join(sets))
    write("deck", "set_without_value.deck", b"[run]\nseed = 1\n\xffrun.seed\xff=3")
    write("deck", "repeated.deck", b"[run]\nseed = 1\n[train]\nepochs = 1\n[run]\nseed = 2\n")
    write("deck", "no_section.deck", b"epochs = 3\n")
    write("deck", "half_a_header.deck", b"[train\nepochs = 3\n")
    write("deck", "unknown_key.deck", b"[optimizer]\nlearning_rate = 0.1\n")
    write("deck", "out_of_range.deck", b"[optimizer]\nlr = -1\n[train]\nepochs = 99999999999999999999\n")
    write("deck", "not_numbers.deck", b"[optimizer]\nlr = nan\nmomentum = 0x1p-1\n[data]\nmean = 1,,2,\n")
    write("deck", "min_lr_above_lr.deck", b"[schedule]\nname = cosine\nmin_lr = 1\n[optimizer]\nlr = 0.1\n")
    write("deck", "long_warmup.deck", b"[train]\nepochs = 2\n[schedule]\nwarmup_epochs = 3\n")
    write("deck", "falling_milestones.deck", b"[schedule]\nmilestones = 2, 1\n")
    write("deck", "no_milestones.deck", b"[schedule]\nname = multistep\n")
    write("deck", "no_momentum.deck", b"[optimizer]\nname = sgd\nmomentum = 0\nnesterov = true\n")
    write("deck", "no_reference_batch.deck", b"[optimizer]\nscale_lr = linear\n")
    write("deck", "path_without_format.deck", b"[data]\npath = /data\n")
    write("deck", "long_umlauts.deck", "[data]\n{} = 1\n".format("\u00e4" * 60).encode())
    write("deck", "long_line.deck", b"[data]\npath = " + b"x" * 2000 + b"\n" + b"y" * 2000 + b" = 1\n")
    write("deck", "not_text.deck", b"[run]\nseed = 1\0\n\x7fELF")


def idx(dims, payload):
    return struct.pack(f">BBBB{len(dims)}I", 0, 0, 8, len(dims), *dims) + payload


def idx_pair(flags, images, labels):
    return struct.pack("<BH", flags, len(images)) + images + labels


def make_idx():
    gzip_images, gzip_labels, fit = 1, 2, 4
    pixels = bytes(7 * i % 256 for i in range(4 * 5 * 3))
    images = idx([4, 5, 3], pixels)
    colours = idx([2, 3, 5, 2], pixels)
    labels = idx([4], bytes([0, 1, 2, 1]))
    two_labels = idx([2], bytes([0, 255]))
    packed = gzip.compress(images, mtime=0)
    # 7 x 859764727 x 1532540863 = 2**63 - 1: the largest product that fits, without room for the header.
    largest = idx([7, 859764727, 1532540863], b"")
    write("idx", "plain.bin", idx_pair(0, images, labels))
    write("idx", "four_dimensions.bin", idx_pair(0, colours, two_labels))
    write("idx", "fit_plain.bin", idx_pair(fit, images[:16], labels[:8]))
    write("idx", "fit_four_dimensions.bin", idx_pair(fit, colours[:20], two_labels[:8]))
    write("idx", "fit_gzip.bin", idx_pair(gzip_images | gzip_labels | fit, images[:16], labels[:8]))
    write("idx", "gzip.bin", idx_pair(gzip_images | gzip_labels, images, labels))
    write("idx", "gzip_images.bin", idx_pair(gzip_images, images, labels))
    write("idx", "gzip_labels.bin", idx_pair(gzip_labels, images, labels))
    write("idx", "own_gzip.bin", idx_pair(0, packed, gzip.compress(labels, mtime=0)))
    write("idx", "truncated_gzip.bin", idx_pair(0, packed[:-9], labels))
    write("idx", "two_gzip_members.bin", idx_pair(0, gzip.compress(images[:20], mtime=0) +
                                                  gzip.compress(images[20:], mtime=0), labels))
    write("idx", "gzip_bomb.bin", idx_pair(0, gzip.compress(idx([4, 500, 500], bytes(1000000)), mtime=0), labels))
    write("idx", "no_images.bin", idx_pair(0, idx([0, 5, 3], b""), idx([0], b"")))
    write("idx", "largest_product.bin", idx_pair(0, largest, labels))
    write("idx", "largest_gzip_product.bin", idx_pair(gzip_images, largest, labels))
    write("idx", "overflowing_product.bin", idx_pair(0, idx([0xffffffff] * 4, b""), labels))
    write("idx", "short_header.bin", idx_pair(0, images[:14], labels[:6]))
    write("idx", "counts_differ.bin", idx_pair(0, images, two_labels))
    write("idx", "swapped.bin", idx_pair(0, labels, images))


def cifar(flags, names, body):
    return struct.pack("<BH", flags, len(names)) + names + body


def make_cifar():
    cifar100, raw, two_files, with_names = 1, 2, 4, 8
    ten = b"airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\r\n\n"
    hundred = b"".join(b"class %d\n" % k for k in range(100))
    record = bytes(7 * i % 256 for i in range(3 * 32 * 32))
    write("cifar", "ten.bin", cifar(0, b"", bytes(range(10))))
    write("cifar", "ten_two_files.bin", cifar(two_files, b"", bytes([9, 0, 5])))
    write("cifar", "ten_names.bin", cifar(with_names, ten, bytes([3, 9])))
    write("cifar", "nine_names.bin", cifar(with_names, ten[9:], bytes([3, 9])))
    write("cifar", "hundred.bin", cifar(cifar100, b"", bytes([0, 50, 99])))
    write("cifar", "hundred_names.bin", cifar(cifar100 | with_names | two_files, hundred, bytes([99])))
    write("cifar", "label_too_large.bin", cifar(0, b"", bytes([1, 10])))
    write("cifar", "fine_label_too_large.bin", cifar(cifar100, b"", bytes([1, 100])))
    write("cifar", "empty.bin", cifar(raw, b"", b""))
    write("cifar", "raw_ten.bin", cifar(raw, b"", b"\x03" + record + b"\x09" + record))
    write("cifar", "raw_hundred.bin", cifar(cifar100 | raw, b"", b"\x05\x63" + record))
    write("cifar", "raw_truncated.bin", cifar(raw, b"", b"\x03" + record[:-1]))


def user_block(flags, magic=b"KOLOCKPT", version=1, block_bytes=512, length=None, image=b"\x89HDF\r\n\x1a\n" + bytes(100)):
    length = len(image) if length is None else length
    head = struct.pack("<8sIIQQ", magic, version, block_bytes, length, 0)
    return bytes([flags]) + head + bytes(512 - len(head)) + image


def make_user_blocks():
    magic, length, checksum = 1, 2, 4
    everything = magic | length | checksum
    write("user_block", "right.bin", user_block(everything))
    write("user_block", "right_checksum.bin", user_block(checksum))
    write("user_block", "right_and_empty.bin", user_block(everything, image=b""))
    write("user_block", "wrong_checksum.bin", user_block(magic | length))
    write("user_block", "wrong_length.bin", user_block(magic | checksum, length=2**64 - 512))
    write("user_block", "other_magic.bin", user_block(checksum, magic=b"\x89HDF\r\n\x1a\n"))
    write("user_block", "newer_version.bin", user_block(everything, version=2))
    write("user_block", "other_block_size.bin", user_block(everything, block_bytes=1024))
    write("user_block", "short.bin", user_block(0)[:512])
    write("user_block", "empty.bin", b"\x07")


make_decks()
make_idx()
make_cifar()
make_user_blocks()
