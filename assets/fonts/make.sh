#!/usr/bin/env bash
# Makes the font files of this folder again from their published packages. Not part of a build: the results are committed.
#
# Needs node's package tool, python3 and fonttools (`pip install fonttools`). About 70 MB are fetched into a temporary
# folder (or taken from the folder given as the first argument, which holds the four .tgz files).
#
#   assets/fonts/make.sh [FOLDER_WITH_PACKAGES]
#
# The families are renamed, since the open font licence keeps the names "Plex" and "Source" for the originals.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=${1:-$work}
if [ $# -eq 0 ]; then
  (cd "$work" && npm pack --silent @expo-google-fonts/ibm-plex-sans@0.4.1 @expo-google-fonts/ibm-plex-mono@0.4.1 \
    @expo-google-fonts/noto-sans-sc@0.4.3 @phosphor-icons/web@2.1.2)
fi
unpack() { mkdir -p "$work/$1" && tar xzf "$packages"/$2 -C "$work/$1" --strip-components=1; }
unpack plex-sans 'expo-google-fonts-ibm-plex-sans-0.4.1.tgz'
unpack plex-mono 'expo-google-fonts-ibm-plex-mono-0.4.1.tgz'
unpack noto 'expo-google-fonts-noto-sans-sc-0.4.3.tgz'
unpack phosphor 'phosphor-icons-web-2.1.2.tgz'

python3 "$here/chars.py" chinese > "$work/chinese.txt"
python3 "$here/chars.py" latin > "$work/latin.txt"
python3 "$here/chars.py" icons "$work/phosphor/src/regular/selection.json" > "$work/icons.txt"

latin() { # source, result: kerning and marks are kept, hints and alternates are not
  pyftsubset "$1" --text-file="$work/latin.txt" --output-file="$2" --layout-features='kern,mark,mkmk,ccmp,locl' \
    --no-hinting --notdef-outline --name-IDs='*' --drop-tables+=DSIG
}
chinese() { # source, result
  pyftsubset "$1" --text-file="$work/chinese.txt" --output-file="$2" --layout-features='' \
    --no-hinting --notdef-outline --name-IDs='*' --drop-tables+=DSIG,vhea,vmtx,VORG,BASE,GSUB,GPOS,GDEF
}
latin "$work/plex-sans/400Regular/IBMPlexSans_400Regular.ttf" "$here/LeasebenchSans-Regular.ttf"
latin "$work/plex-sans/600SemiBold/IBMPlexSans_600SemiBold.ttf" "$here/LeasebenchSans-SemiBold.ttf"
latin "$work/plex-mono/400Regular/IBMPlexMono_400Regular.ttf" "$here/LeasebenchMono-Regular.ttf"
chinese "$work/noto/400Regular/NotoSansSC_400Regular.ttf" "$here/LeasebenchSansSC-Regular.ttf"
chinese "$work/noto/700Bold/NotoSansSC_700Bold.ttf" "$here/LeasebenchSansSC-Bold.ttf"
pyftsubset "$work/phosphor/src/regular/Phosphor.ttf" --text-file="$work/icons.txt" \
  --output-file="$here/../icons/LeasebenchIcons.ttf" --layout-features='' --no-hinting --notdef-outline --drop-tables+=GSUB

python3 "$here/rename.py" "$here"/LeasebenchSans*.ttf "$here"/LeasebenchMono*.ttf
cp "$work/plex-sans/LICENSE_FONT" "$here/OFL-IBM-Plex.txt"
cp "$work/noto/LICENSE_FONT" "$here/OFL-Noto-Sans-SC.txt"
cp "$work/phosphor/LICENSE" "$here/../icons/LICENSE-Phosphor.txt"
python3 "$here/chars.py" rust "$work/phosphor/src/regular/selection.json"
