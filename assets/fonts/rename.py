"""Gives the subset fonts their own family name, as the open font licence asks of modified versions."""
import os
import sys

from fontTools.ttLib import TTFont

for path in sys.argv[1:]:
    stem = os.path.splitext(os.path.basename(path))[0]
    family, style = stem.split("-")
    family = family.replace("Leasebench", "Leasebench ").replace("SansSC", "Sans SC")
    font = TTFont(path)
    for record in font["name"].names:
        text = {1: family, 2: style, 3: f"{stem};subset", 4: f"{family} {style}", 6: stem, 16: family, 17: style}.get(record.nameID)
        if text is not None:
            font["name"].setName(text, record.nameID, record.platformID, record.platEncID, record.langID)
    font.save(path)
