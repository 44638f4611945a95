package model

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Followed is content that moves without a commit of the control plane: whatever is pushed there is on the clusters of
// each environment that follows it at once, past gates and proofs.
type Followed struct {
	// Subject is the deployment target or registration, as DeploymentTarget/hello-web.
	Subject string      `json:"object"`
	Pos     problem.Pos `json:"pos"`
	// Key is what it follows by: branch, or a range in semver or version. Value is which.
	Key   string `json:"key"`
	Value string `json:"value"`
	Repo  string `json:"repo,omitempty"` // of a registration, or where the target's manifests have a key of this name
	// IsRegistration reports that it is where a team writes its workloads, and not one of them.
	IsRegistration bool `json:"-"`
}

// What names what is followed, as "branch main".
func (f Followed) What() string {
	if f.Key == "branch" {
		return "branch " + f.Value
	}
	return fmt.Sprintf("range %q", f.Value)
}

// exactVersion is a version of a chart that is no range: Helm takes "27.1" for 27.1.x.
var exactVersion = regexp.MustCompile(`^=?v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Follows returns the key and the value of what the content of a target follows; "" if it stays at what a commit of the
// control plane says. It is what the built-in reconcilers mean by these keys: a commit or a digest wins over a
// range, that over a tag, and that over a branch.
func (t *Target) Follows() (key, value string) {
	m := t.Manifests
	switch {
	case m["commit"] != "" || m["digest"] != "":
		return "", ""
	case m["semver"] != "":
		return "semver", m["semver"]
	case m["tag"] != "":
		return "", ""
	case m["chart"] != "" && m["version"] != "":
		if exactVersion.MatchString(m["version"]) {
			return "", ""
		}
		return "version", m["version"]
	case m["branch"] != "":
		return "branch", m["branch"]
	}
	return "", ""
}

// Followed returns what the environment takes without a commit of the control plane, by subject: registrations, whose
// branches are read anew for each rendering, and deployment targets.
func (m *Model) Followed() []Followed {
	var all []Followed
	for _, r := range m.Registrations {
		all = append(all, Followed{Subject: r.Subject(), Pos: r.Pos, Key: "branch", Value: r.Workload.Branch, Repo: r.Workload.Repo, IsRegistration: true})
	}
	for _, t := range m.Targets {
		if key, value := t.Follows(); key != "" {
			all = append(all, Followed{Subject: t.Subject(), Pos: t.Pos, Key: key, Value: value, Repo: cmp.Or(t.Manifests["repo"], t.Manifests["url"])})
		}
	}
	slices.SortFunc(all, func(a, b Followed) int { return cmp.Compare(a.Subject, b.Subject) })
	return all
}
