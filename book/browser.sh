#!/bin/sh
# Make sure that there is a Chromium and a Chinese font, or say what to install.
set -u
missing=""
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 \
  || command -v google-chrome >/dev/null 2>&1 || missing="chromium"
command -v fc-list >/dev/null 2>&1 && [ -n "$(fc-list :lang=zh)" ] \
  || missing="$missing fonts-noto-cjk fontconfig"
[ -z "$missing" ] && exit 0
install="apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing"
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then sh -c "$install" && exit 0; fi
  if sudo -n true 2>/dev/null; then sudo sh -c "$install" && exit 0; fi
fi
echo "The browser tests need: $missing. Install them (Debian: apt-get install $missing)."
exit 1
