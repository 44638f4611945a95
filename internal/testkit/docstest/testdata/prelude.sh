set -e -o pipefail
git config --global user.name Alice
git config --global user.email alice@example.com
git config --global init.defaultBranch main
git config --global advice.detachedHead false

# diff says by its exit code that there are differences.
fairlead() {
  local code=0
  command fairlead "$@" || code=$?
  if [ "$1" = diff ] && [ "$code" = 4 ]; then return 0; fi
  return "$code"
}

# What the reader's daemon does by itself.
cycle() { fairlead serve --once --config "$HOME/fleet/fairlead.yaml"; }

# What the reader does in the forge.
merge_all() {
  fairlead pr list --repo "$HOME/fleet/gitops.git" | awk 'NR > 1 { print $1 }' | while read -r number; do
    fairlead pr merge "$number" --repo "$HOME/fleet/gitops.git"
  done
}

# Two changes of main, each promoted to the first environment and merged.
change_twice() {
  for level in warning error; do
    sed -i "s/LOG_LEVEL: .*/LOG_LEVEL: $level/" configs/fleet.yaml
    git commit --quiet --all --message "Log level $level"
    git push --quiet
    cycle
    merge_all
    cycle
  done
}
