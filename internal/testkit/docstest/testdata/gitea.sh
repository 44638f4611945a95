# The reader's Gitea, with the account alice and its token; a cluster's reports are
# commit statuses, as notification-controller sets them.
GITEA=http://localhost:3000
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

api() { curl --silent --show-error --fail --header "Authorization: token $FAIRLEAD_GIT_TOKEN" "$@"; }

# until_true waits for an event: the daemon or Gitea is at work. The test's own limit ends it.
until_true() {
  local tries=0
  until "$@"; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ]; then
      echo "not so after 10 minutes: $*"
      cat "$HOME/fleet/serve.log"
      return 1
    fi
    sleep 1
  done
}

open_pulls() { api "$GITEA/api/v1/repos/alice/gitops/pulls?state=open" | grep -o '"number":[0-9]*' | cut -d: -f2 || true; }
has_pulls() { [ "$(open_pulls | wc -l)" -ge "$1" ]; }
wait_pulls() { until_true has_pulls "$1"; }

# Gitea merges only when it has looked for conflicts: what it refuses is tried again.
merge_all_open() {
  local number
  for number in $(open_pulls); do
    api --json '{"Do": "merge"}' "$GITEA/api/v1/repos/alice/gitops/pulls/$number/merge" > /dev/null 2>&1 || return 1
  done
  [ -z "$(open_pulls)" ]
}
merge_pulls() { until_true merge_all_open; }

has_status() { (cd "$HOME/fleet" && fairlead status) | grep -q "^$1 .* $2 "; }
wait_status() { until_true has_status "$1" "$2"; }

# report sets the status of a cluster on the newest commit of an environment's output.
report() {
  local head
  head=$(api "$GITEA/api/v1/repos/alice/gitops/branches/$1" | grep -o '"commit":{"id":"[0-9a-f]*' | grep -o '[0-9a-f]*$')
  api --json "{\"context\": \"kustomization/fleet/1a2b3c4d\", \"state\": \"$2\", \"description\": \"reconciliation succeeded\"}" \
    "$GITEA/api/v1/repos/alice/gitops/statuses/$head" > /dev/null
}

# The reader merges all three, and no cluster has reported yet.
merge_first_outputs() {
  merge_pulls
  for env in dev stage prod; do wait_status $env rolling-out; done
}

# The reader merges in stage and then in prod; the clusters report.
follow_to_production() {
  for env in stage prod; do
    wait_pulls 1
    merge_pulls
    wait_status $env rolling-out
    report $env success
  done
  wait_status prod verified
}
