"""Makes the HDF5 and BART files of the tests, with h5py 3.16 and HDF5 2.0: python hdf5.py

Entry number i in C order is (i - 7) / 2 in all datasets of real numbers that can hold it, and i in
those of integers. Complex entries are (i - 7) / 2 - i * 1j / 4.
"""

import h5py
import numpy


def real(shape, kind="<f4"):
    numbers = numpy.arange(numpy.prod(shape)).reshape(shape)
    is_float = numpy.dtype(kind).kind == "f"
    return ((numbers - 7) / 2 if is_float else numbers).astype(kind)


def complex_numbers(shape, kind="<c8"):
    imaginary = numpy.arange(numpy.prod(shape)).reshape(shape) / -4
    return (real(shape, "<f8") + 1j * imaginary).astype(kind)


# The layout of fastMRI: several coils, the head of ISMRMRD as a text, and attributes.
with h5py.File("fastmri.h5", "w") as file:
    file["kspace"] = complex_numbers((2, 3, 4, 5))
    file["reconstruction_rss"] = real((2, 4, 4))
    file["reconstruction_esc"] = real((2, 4, 4)) + 1
    file["ismrmrd_header"] = "<ismrmrdHeader/>"
    file.attrs["acquisition"] = "AXT2"
    file.attrs["max"] = numpy.float64(12.0)
    file.attrs["norm"] = numpy.float64(40.0)
    file.attrs["patient_id"] = "nobody"

for name, version in [("earliest.h5", "earliest"), ("latest.h5", "latest")]:
    with h5py.File(name, "w", libver=version) as file:
        group = file.create_group("inner/group")
        group["contiguous"] = real((5, 7))
        group.create_dataset("chunked", data=real((5, 7)), chunks=(2, 3))
        group.create_dataset(
            "packed",
            data=complex_numbers((3, 5, 7), "<c16"),
            chunks=(2, 2, 4),
            compression="gzip",
            shuffle=True,
            fletcher32=True,
        )
        file.create_dataset("one_chunk", data=real((4, 5), "<f8"), chunks=(4, 5), compression=9)
        file["big_endian"] = real((3, 3), ">f8")
        file["sixteen_bits"] = real((2, 3), ">u2")
        file["signed"] = real((2, 3), "<i4")

# Old groups with many names, chunks of many pages, and data of a user at the start of the file.
with h5py.File("many.h5", "w", userblock_size=512) as file:
    for index in range(30):
        file[f"many/{index:03}"] = real((1, 2))
    file.create_dataset("small_chunks", data=real((12, 15), "u2"), chunks=(1, 1), compression=1)
with h5py.File("pages.h5", "w", libver="latest") as file:
    file.create_dataset("small_chunks", data=real((40, 45), "u2"), chunks=(1, 1))

# LZF: short and long repetitions, far and near, other filters, and a chunk that is not compressed.
with h5py.File("lzf.h5", "w") as file:
    numbers = (numpy.arange(2500) % 700 // 3 - 7) / 2
    file.create_dataset(
        "repeated", data=numbers.reshape(50, 50), compression="lzf", chunks=(50, 50)
    )
    file.create_dataset(
        "packed",
        data=complex_numbers((30, 40)),
        chunks=(30, 16),
        compression="lzf",
        shuffle=True,
        fletcher32=True,
    )
    file.create_dataset("as_it_was", data=real((2, 2)), compression="lzf")

# What is refused: chunks that were never written, other filters, texts, and growing datasets.
with h5py.File("refused.h5", "w", libver="latest") as file:
    file.create_dataset("sparse", (4, 4), "f4", chunks=(2, 2))[:2, :2] = 1
    file.create_dataset("scaled", data=real((4, 4), "i4"), scaleoffset=8)
    file.create_dataset("growing", data=real((4, 4)), maxshape=(None, None), chunks=(2, 2))
    file.create_dataset("unwritten", (4, 4), "f4")
    file["texts"] = ["a", "b"]
    file["half"] = real((2, 2), "f2")
    file["truth"] = numpy.array([[True, False]])
    file["empty"] = real((0, 3))

# BART: read, phase, one slice, coils, maps, and four slices at axis 13, the first axis fastest.
values = complex_numbers((4, 3, 5, 2))  # slices, coils, phase, read
values.tofile("bart.cfl")
with open("bart.hdr", "w") as header:
    header.write("# Dimensions\n2 5 1 3 1 1 1 1 1 1 1 1 1 4 1 1 \n# Command\nscale 1 a bart\n")
