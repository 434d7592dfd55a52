#!/bin/sh
# Make sure that there is a Chromium and a Chinese font, or say what to install. The shell
# without windows is a third of the wait; any other Chromium will do where there is none.
set -u
browser=""
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  [ -z "$browser" ] && command -v "$name" >/dev/null 2>&1 && browser="$name"
done
fonts=""
command -v fc-list >/dev/null 2>&1 && [ -n "$(fc-list :lang=zh)" ] \
  || fonts="fonts-noto-cjk fontconfig"
[ "$browser" = chromium-headless-shell ] && [ -z "$fonts" ] && exit 0

as_root=""
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then as_root="sh -c"; fi
  if [ -z "$as_root" ] && sudo -n true 2>/dev/null; then as_root="sudo sh -c"; fi
fi
get() { $as_root "apt-get install -y -qq --no-install-recommends $1" >/dev/null; }
if [ -n "$as_root" ]; then
  $as_root "apt-get update -qq"
  [ -z "$fonts" ] || get "$fonts" && fonts=""
  [ "$browser" = chromium-headless-shell ] || get chromium-headless-shell 2>/dev/null \
    && browser="chromium-headless-shell"
  [ -n "$browser" ] || get chromium && browser="${browser:-chromium}"
fi
[ -n "$browser" ] && [ -z "$fonts" ] && exit 0
[ -n "$browser" ] || fonts="chromium $fonts"
echo "The browser tests need: $fonts. Install them (Debian: apt-get install $fonts)."
exit 1
