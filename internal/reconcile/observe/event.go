package observe

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Event is what a cluster has reported of one object. It is text from outside.
type Event struct {
	Cluster string `json:"cluster"`
	// Environment and ClusterType are what the Alert names; "" if it names none.
	Environment string `json:"environment,omitempty"`
	ClusterType string `json:"clusterType,omitempty"`
	// Object is "Kustomization/flux-system/apps". Of an unnamed cluster it ends with "@"
	// and its uid, so that it is not taken for that of another one.
	Object string `json:"object"`
	// Commit, of 40 digits, or else Version is the revision that Phase is about. That of a
	// failure may not be known.
	Branch  string `json:"branch,omitempty"` // of Commit, if it is known
	Commit  string `json:"commit,omitempty"`
	Version string `json:"version,omitempty"` // a chart version, or a digest
	// Runs is the revision that the object runs, if the event says so and it is another one.
	Runs  string        `json:"runs,omitempty"`
	Phase rollout.Phase `json:"phase,omitempty"`
	// Message is one line.
	Message string    `json:"message,omitempty"`
	When    time.Time `json:"when"`
}

// revision is a commit, with its branch if that is known, or another version.
type revision struct{ branch, commit, version string }

// fluxCommit matches main@sha1:…, sha1:… and, of Flux before 2.0, main/….
var fluxCommit = regexp.MustCompile(`^(?:(?:(.+)@)?sha1:|(?:(.+)/)?)([0-9a-f]{40})$`)

// parseFluxRevision reads a revision as Flux writes it. The zero revision stands for text that cannot
// be one.
func parseFluxRevision(text string) revision {
	if len(text) > longestName || strings.ContainsFunc(text, unicode.IsControl) {
		return revision{}
	}
	m := fluxCommit.FindStringSubmatch(text)
	if m == nil {
		return revision{version: text}
	}
	return revision{branch: strings.TrimPrefix(m[1]+m[2], "refs/heads/"), commit: m[3]}
}

// String returns a revision in one form, however its cluster writes it: main@sha1:…, sha1:…, or the
// version.
func (r revision) String() string {
	switch {
	case r.commit == "":
		return r.version
	case r.branch == "":
		return "sha1:" + r.commit
	}
	return r.branch + "@sha1:" + r.commit
}

// parseRevision is the inverse of revision.String.
func parseRevision(text string) revision {
	if commit, ok := strings.CutPrefix(text, "sha1:"); ok {
		return revision{commit: commit}
	}
	if at := strings.LastIndex(text, "@sha1:"); at >= 0 {
		return revision{branch: text[:at], commit: text[at+len("@sha1:"):]}
	}
	return revision{version: text}
}

// objectKey returns what an event is about.
func (e Event) objectKey() ledger.Object { return ledger.Object{Cluster: e.Cluster, Name: e.Object} }

// report returns an event as the ledger has it.
func (e Event) report() ledger.Report {
	return ledger.Report{
		Object: e.objectKey(), Group: ledger.Group{Environment: e.Environment, ClusterType: e.ClusterType},
		Phase: ledger.ParsePhase(string(e.Phase)), Target: revision{e.Branch, e.Commit, e.Version}.String(), Runs: e.Runs, Message: e.Message, Said: e.When,
	}
}

// eventOf returns a report of the ledger as an event.
func eventOf(r ledger.Report) Event {
	about := parseRevision(r.Target)
	return Event{
		Cluster: r.Object.Cluster, Object: r.Object.Name, Environment: r.Group.Environment, ClusterType: r.Group.ClusterType,
		Branch: about.branch, Commit: about.commit, Version: about.version, Runs: r.Runs,
		Phase: rollout.Phase(r.Phase.String()), Message: r.Message, When: r.Said,
	}
}
