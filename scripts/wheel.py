#!/usr/bin/env python3
"""Writes a Python wheel that carries the static binary: wheel.py BINARY MACHINE VERSION THIRD-PARTY-DIRECTORY OUT-DIRECTORY.

Nothing of it depends on the time, the user or the place: the same input gives the same bytes.
"""

import base64
import gzip
import hashlib
import os
import sys
import time
import zipfile

binary, machine, version, third_party, out = sys.argv[1:]
# A static binary needs no C library: it runs where either does.
platforms = [f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]
at = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
name = f"narrows-{version}"
info = f"{name}.dist-info"


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


description = read("README.md").decode().split("\n```")[0]
metadata = f"""\
Metadata-Version: 2.4
Name: narrows
Version: {version}
Summary: Finds the narrowest point of a storage path, proves it by measurement, and plans past it
License-Expression: MIT OR Apache-2.0
License-File: LICENSES.txt
Keywords: nvme,pcie,storage,benchmark,bottleneck
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.6
Description-Content-Type: text/markdown

{description}"""
wheel = "Wheel-Version: 1.0\nGenerator: narrows\nRoot-Is-Purelib: false\n" + "".join(f"Tag: py3-none-{it}\n" for it in platforms)
files = {
    f"{name}.data/scripts/narrows": read(binary),
    f"{info}/METADATA": metadata.encode(),
    f"{info}/WHEEL": wheel.encode(),
    f"{info}/licenses/LICENSES.txt": read(f"{third_party}/LICENSES.txt.gz"),
    f"{info}/sboms/narrows.cdx.json": read(f"{third_party}/sbom.json.gz"),
}
record = ""
for path, content in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{path},sha256={digest},{len(content)}\n"
files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

with zipfile.ZipFile(f"{out}/{name}-py3-none-{'.'.join(platforms)}.whl", "w") as archive:
    for path, content in files.items():
        entry = zipfile.ZipInfo(path, at)
        entry.create_system = 3
        entry.external_attr = (0o100755 if path.endswith("/scripts/narrows") else 0o100644) << 16
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
