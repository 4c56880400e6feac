"""Character sets of the font subsets.

chars.py latin | chinese               the characters, as text
chars.py icons selection.json          the icons' characters
chars.py rust selection.json           the icons as Rust constants, for src/ui/widgets/icons.rs
"""
import json
import sys

# Icons the program uses, by their Phosphor names.
ICONS = """
magnifying-glass arrow-u-up-left arrow-u-up-right arrow-counter-clockwise moon sun presentation-chart upload-simple download-simple export
cube shield-check warning warning-circle arrow-right arrow-left arrow-up arrow-down caret-down caret-up caret-left caret-right check x plus minus
git-commit git-diff check-circle seal-check folder-open note-pencil pencil-simple flask wifi-slash arrow-clockwise
lock key timer clock package warning-diamond warning-octagon stop square play copy arrow-square-out table chart-line clipboard clipboard-text
file-text file floppy-disk hard-drives target users-three currency-circle-dollar crosshair trash dots-three funnel
gear keyboard link terminal-window info question list eye eye-slash plugs plugs-connected cpu memory graph
paper-plane-tilt signature flag calendar-blank sliders database stop-circle user text-aa desktop
""".split()


def gb2312(rows):
    for row in rows:
        for cell in range(1, 95):
            try:
                yield bytes([0xA0 + row, 0xA0 + cell]).decode("gb2312")
            except UnicodeDecodeError:
                pass


def ranges(*pairs):
    for low, high in pairs:
        for code in range(low, high + 1):
            yield chr(code)


def latin():
    # Latin, Greek and Cyrillic as far as the fonts have them; punctuation, arrows, mathematics, box drawing for raw output.
    return ranges((0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x45F), (0x1E00, 0x1EFF), (0x2000, 0x206F),
                  (0x2070, 0x209F), (0x20A0, 0x20BF), (0x2100, 0x214F), (0x2150, 0x218F), (0x2190, 0x21FF), (0x2200, 0x22FF),
                  (0x2500, 0x259F), (0xFB00, 0xFB06), (0xFFFD, 0xFFFD))


def chinese():
    # GB2312 levels 1 and 2 with its symbols, and what Chinese typography adds around them.
    yield from gb2312(range(1, 10))
    yield from gb2312(range(16, 88))
    yield from ranges((0x20, 0x7E), (0xA0, 0xFF), (0x2010, 0x2027), (0x2030, 0x203E), (0x2190, 0x2193), (0x2460, 0x2473),
                      (0x25A0, 0x25FF), (0x2713, 0x2717), (0x3000, 0x3017), (0xFF01, 0xFF5E), (0xFFE0, 0xFFE5), (0x2423, 0x2423))
    # Characters of the trade and of names outside GB2312.
    yield from "镕喆堃玥昇玮犇淼翀啰嗯瞭"


def icons(path):
    with open(path, encoding="utf-8") as file:
        names = {icon["properties"]["name"].split(",")[0].strip(): icon["properties"]["code"] for icon in json.load(file)["icons"]}
    return {name: names[name] for name in ICONS}


def main():
    kind = sys.argv[1]
    if kind in ("latin", "chinese"):
        print("".join(dict.fromkeys(latin() if kind == "latin" else chinese())))
    elif kind == "icons":
        print("".join(chr(code) for code in icons(sys.argv[2]).values()))
    elif kind == "rust":
        for name, code in sorted(icons(sys.argv[2]).items()):
            print(f'pub const {name.upper().replace("-", "_")}: char = \'\\u{{{code:x}}}\';')


main()
