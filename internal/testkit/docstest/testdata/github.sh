# The reader's account on GitHub. gh has configured git to log in; gh, kind, flux and kubectl are
# stand-ins (standin_test.go).
git config --global credential.helper '!printf "username=alice\npassword=%s\n" "$READER_TOKEN"; :'
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# The daemon goes on in the reader's first terminal.
fairlead() {
  if [ "$*" = serve ]; then
    command fairlead serve > serve.log 2>&1 &
    return
  fi
  command fairlead "$@"
}

# until_true waits for an event: the daemon is at work. The test's own limit ends it.
until_true() {
  local tries=0
  until "$@"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 1200 ]; then
      echo "not so after 10 minutes: $*"
      cat "$HOME/fleet/serve.log"
      return 1
    fi
    sleep 0.5
  done
}

has_pull() { gh pr list --repo acme/gitops | grep -q "	fairlead/$1\$"; }
wait_pulls() {
  local env
  for env in "$@"; do until_true has_pull "$env"; done
}

has_status() { (cd "$HOME/fleet" && command fairlead status) | grep -q "^$1 .* $2 "; }
wait_status() { until_true has_status "$1" "$2"; }

has_preview() { gh pr view --repo acme/control-plane "$1" --comments | grep -q '### stage'; }
wait_preview() { until_true has_preview "$1"; }

# merge_output merges the pull request of an environment as the page does.
merge_output() {
  wait_pulls "$1"
  gh pr merge --repo acme/gitops --merge "fairlead/$1"
}
