package provision

import (
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// ExistingSecret marks a Secret that the management cluster already has.
const ExistingSecret = "existing"

func findSecrets(m *model.InputManifest, credentials []*model.Credential) map[string]string {
	all, named := map[string]string{}, listSecrets(&m.Spec)
	for _, ref := range splitWords(m.Annotations[model.ExistingSecretsAnnotation]) {
		if named[ref] {
			all[ref] = ExistingSecret
		}
	}
	for _, c := range credentials {
		if named[c.Path()] {
			all[c.Path()] = c.Digest
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// AddSecrets completes the lock of an older version: beside are the files next to it
// that SOPS encrypted.
func (s *State) AddSecrets(beside []*model.Credential) {
	named, all := listSecrets(&s.Spec), maps.Clone(s.Secrets)
	if all == nil {
		all = map[string]string{}
	}
	for _, c := range beside {
		if all[c.Path()] == "" && named[c.Path()] && !c.IsExternal() {
			all[c.Path()] = c.Digest
		}
	}
	if len(all) > 0 {
		s.Secrets = all
	}
}

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
}

func listSecrets(spec *claudie.Spec) map[string]bool {
	all := map[string]bool{}
	for i := range spec.Providers {
		all[describeRef(spec.Providers[i].SecretRef)] = true
	}
	for i := range spec.NodePools.Static {
		for _, n := range spec.NodePools.Static[i].Nodes {
			all[describeRef(n.SecretRef)] = true
		}
	}
	return all
}

// diffSecret returns the change of a named Secret. It is false if the Secret is equal
// or unknown in one state.
func diffSecret(field string, was, is claudie.Reference, now, want *stateIndex) (Change, bool) {
	before, after := describeRef(was), describeRef(is)
	if before != after {
		return Change{field, before, after}, true
	}
	old, new := now.Secrets[before], want.Secrets[after]
	isKnown := old != "" && new != "" && old != ExistingSecret && new != ExistingSecret
	if !isKnown || old == new {
		return Change{}, false
	}
	return Change{field, before, after + ", changed"}, true
}

// WithoutShared omits steps that drop credentials that manifests of states use.
func WithoutShared(steps []Step, states []State) []Step {
	used := map[string]bool{}
	for i := range states {
		for ref := range listSecrets(&states[i].Spec) {
			used[ref] = true
			file := strings.Replace(ref, "/", "-", 1)
			used["secret-"+file], used["externalsecret-"+file] = true, true
		}
	}
	var all []Step
	for _, s := range steps {
		if s.Kind == DropCredentials {
			s.Reason = slices.DeleteFunc(slices.Clone(s.Reason), func(c Change) bool { return used[c.Old] })
		}
		if s.Kind != DropCredentials || len(s.Reason) > 0 {
			all = append(all, s)
		}
	}
	return all
}
