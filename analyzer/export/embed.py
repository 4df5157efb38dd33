#!/usr/bin/env python3
"""Writes C source with files as strings: embed.py OUTPUT NAME=FILE... They go into an SVG's CDATA sections."""

import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


output, *parts = sys.argv[1:]
text = '/* Made by embed.py. */\n#include "export/flame.h"\n'
for part in parts:
    name, path = part.split("=", 1)
    with open(path, encoding="ascii") as file:
        content = file.read()
    if "]]>" in content:
        sys.exit(f"{path}: has the end mark of a CDATA section in it")
    text += f"\nconst char {name}[] =\n" + "\n".join("\t" + literal(line) for line in content.splitlines()) + ";\n"
with open(output, "w", encoding="ascii") as file:
    file.write(text)
