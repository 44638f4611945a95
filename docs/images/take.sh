#!/usr/bin/env bash
# Takes the screenshots of this folder from "fairlead demo" and "fairlead demo --stack". It needs Go, Git, curl
# and Chromium:
#
#   docs/images/take.sh            writes 1280 pixels wide images here
#   docs/images/take.sh DIR        writes them to another folder
#   WIDTH=400 HEIGHT=1600 docs/images/take.sh DIR
set -euo pipefail
cd "$(dirname "$0")/../.."
images=$(realpath "${1:-docs/images}")
width=${WIDTH:-1280}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
home=$(mktemp -d)
page=http://127.0.0.1:${PORT:-18080}

go build -o "$home/fairlead" ./cmd/fairlead

# start_demo FOLDER FLAG... starts a demo, and stop_demo ends it.
start_demo() {
  local folder=$1
  shift
  "$home/fairlead" demo --dir "$home/$folder" --listen "${page#http://}" "$@" > "$home/demo.log" 2>&1 &
  demo=$!
}
stop_demo() { kill -INT "$demo" 2> /dev/null || true; wait "$demo" || true; }
trap 'stop_demo; rm -rf "$home"' EXIT
start_demo fleet --pace 8s

# until_true waits until a command succeeds, for 5 minutes at most.
until_true() {
  local tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 1000 ] || { echo "not so after 5 minutes: $*" >&2; cat "$home/demo.log" >&2; exit 1; }
    sleep 0.3
  done
}
shows() { "$home/fairlead" status --url "$page" 2> /dev/null | grep -qE "$1"; }
printed() { grep -qs "$1" "$home/demo.log"; }

# take NAME HEIGHT [PATH [QUERY&]] takes one image, of the overview or of another page.
take() {
  "$chromium" --headless --no-sandbox --hide-scrollbars --user-data-dir="$home/browser" --screenshot="$images/$1.png" \
    --window-size="$width,$2" "$page/${3:-}?${4:-}refresh=off" > /dev/null 2>&1
  echo "$images/$1.png"
}

# answered PATH TEXT says whether a page's answer has a text.
answered() { curl -fsS "$page/api/v1/$1" 2> /dev/null | grep -qE "$2"; }

# pull_of ENVIRONMENT prints the number of its open pull request.
pull_of() { curl -fsS "$page/api/v1/environments/$1" | sed -n 's/^ *"number": \([0-9]*\),$/\1/p' | head -1; }

# change COMMAND... edits the control plane, and pushes.
change() { (cd "$home/fleet/control-plane" && git pull -q && "$@" && git commit -qam "$message" && git push -q); }

until_true printed 'main  *gets'
until_true shows '^dev .*rolling-out'
take dev "${HEIGHT:-900}"
until_true shows '^stage .*rolling-out'
take stage "${HEIGHT:-900}"
until_true printed 'Part 2'
message='Tidy the labels' change sed -i.bak 's/app: hello/app: helo/' workloads/hello.yaml
until_true shows '^dev .*proposed .*removals'
take deletion "${HEIGHT:-900}"
take pull "${HEIGHT:-620}" "environments/dev/pulls/$(pull_of dev)"
message='Take that back' change sed -i.bak 's/app: helo$/app: hello/' workloads/hello.yaml
until_true shows '^prod .*verified +0 '
message='Deploy from another branch' change sed -i.bak 's/branch: master/branch: mastre/' workloads/hello.yaml
until_true shows '^dev .*failed'
take failed "${HEIGHT:-900}"
take commit "${HEIGHT:-620}" "commits/$(cd "$home/fleet/control-plane" && git rev-parse HEAD)"
take fleet "${HEIGHT:-480}" fleet
take cluster-type "${HEIGHT:-900}" cluster-types/cloud
take history "${HEIGHT:-620}" history
take differences "${HEIGHT:-620}" "diff" "from=dev&to=prod&"
take problems "${HEIGHT:-620}" problems
take assignment "${HEIGHT:-900}" assignments/dev/cloud/hello-web
take health "${HEIGHT:-900}" health
stop_demo

start_demo stack --stack
until_true answered stacks/shop/dev '"run": '
take stack "${HEIGHT:-900}" stacks/shop/dev

# The film strip of the README: what the timeline of the overview shows while a change moves, one moment below the other.
frame() { printf '<p>%s</p><div style="background-image: url(file://%s/%s.png); height: %spx"></div>\n' "$2" "$images" "$1" "$3"; }
{
  echo '<style>body { margin: 0; zoom: 0.62; width: 1280px; font: 600 22px sans-serif; } p { margin: 0; padding: 14px 24px; } div { background-position: 0 -195px; }</style>'
  frame dev '1. A commit rolls out in dev.' 300
  frame stage '2. The clusters of dev run it, and it goes on to stage.' 370
  frame deletion '3. A typo would delete a workload: the pull request waits for a person.' 420
  frame failed '4. A commit fails in dev, and goes no further.' 420
} > "$home/film.html"
"$chromium" --headless --no-sandbox --hide-scrollbars --user-data-dir="$home/browser" --allow-file-access-from-files \
  --screenshot="$images/film.png" --window-size=794,1066 "file://$home/film.html" > /dev/null 2>&1
echo "$images/film.png"
