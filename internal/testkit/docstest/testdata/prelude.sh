set -e -o pipefail
git config --global user.name Alice
git config --global user.email alice@example.com
git config --global init.defaultBranch main
git config --global advice.detachedHead false

# diff and schedule what-if say by their exit code that there are differences.
fairlead() {
  local code=0
  command fairlead "$@" || code=$?
  if { [ "$1" = diff ] || [ "$1" = schedule ]; } && [ "$code" = 4 ]; then return 0; fi
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

# What kubectl prints of a plan that tofu-controller keeps in JSON, by the folder of the objects.
print_plan() {
  local commit
  commit=$(git -C ../gitops show "$1/gitrepository.yaml" | sed -n 's/^ *commit: *//p' | cut -c1-10)
  cat <<END
apiVersion: v1
kind: Secret
metadata:
  name: tfplan-default-checkout-dev-server.json
  namespace: zmart-checkout-dev
  labels: {infra.contrib.fluxcd.io/plan-name: checkout-dev-server.json}
  annotations: {savedPlan: plan-fairlead-modules-dev-$commit, encoding: gzip}
data:
  tfplan: H4sIAAAAAAACA1WNzQoCMQwGX2XJWQp69FVkKWmbdQv9kSbVw9J3N2tPHsPMNzlgqy2j2Dc1jrXAfYGrucFlgUZce/Nk/Y7lSazocQCGoOA8INfQE5ngDH7YBmdjYcHiycge+UzMpbq686L5XwT6K6AQrGo40v/T8AlnlzOmBEMpbkLtHyZsWhxjrOMLpiXrD7wAAAA=
END
}

# The inputs of the plan of a component, whose objects are in the folder $server.
read_inputs() { inputs=$(git -C ../gitops show "$server/terraform.yaml" | sed -n 's/.*fairlead.io.inputs: //p'); }
