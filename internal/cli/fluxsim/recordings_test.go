package fluxsim

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// recorded is a recording whose events of one Kustomization a simulated cluster reports as well.
type recorded struct {
	object  string
	cancels bool
	until   string // the first step that is not simulated: why is beside it
}

// simulated are the recordings of Kustomizations that a simulated cluster can have; the cluster has one, and no API server.
var simulated = map[string]recorded{
	"15a-kustomization-default-no-seal": {"Kustomization/s15a/stacks", false, ""},
	"15b-kustomization-default-seal":    {"Kustomization/s15b/stacks", false, ""},
	"15c-kustomization-gate-seal":       {"Kustomization/s15c/stacks", true, ""},
	"17-kustomization":                  {"Kustomization/s17d/first", false, "an object with an invalid field"}, // only an API server finds that
}

// notSimulated are the other recordings, and why.
var notSimulated = map[string]string{
	"16a-helm-lifecycle":    "clusters of the fleet have no HelmRelease",
	"16b-helm-waits":        "clusters of the fleet have no HelmRelease",
	"17x-workers-exhausted": "a cluster of the fleet has one Kustomization, which has a worker for itself; stacksim has the workers",
}

// TestRecordings has a simulated cluster take up what a recorded one did, and compares what both report: the severity and
// the reason of each event, and what was done to which objects.
//
// Left out are times, revisions (Kubernetes counts equal events, and keeps the revision of the first), and an event that
// says what the one before has said. One thing is
// otherwise here, since the demo has no time for it: a source that cannot be fetched fails at once, and not when the
// health check has lasted for its timeout.
func TestRecordings(t *testing.T) {
	for _, name := range recordings.Names(t) {
		number, _, _ := strings.Cut(name, "-")
		one, ok := simulated[name]
		if !ok && notSimulated[name] == "" && number >= "15" {
			t.Errorf("%s is neither simulated nor left out", name)
		}
		if !ok { // up to 14, they are of Terraform objects: stacksim has those
			continue
		}
		t.Run(name, func(t *testing.T) { one.replay(t, recordings.Load(t, name)) })
	}
}

// reported are the events of a Kustomization, one after the other.
type reported []string

// add adds an event, unless it says what the one before has said.
func (all *reported) add(severity, reason, message string) {
	for _, word := range []string{"Health check", "health check", "Reconciliation finished"} {
		if strings.HasPrefix(message, word) { // what follows are times and names
			message = word
		}
	}
	line := severity + " " + reason + ": " + message
	if n := len(*all); n == 0 || (*all)[n-1] != line {
		*all = append(*all, line)
	}
}

// fleetOf returns the commit that the recorded cluster has fetched after a step; "" for none.
func fleetOf(t *testing.T, s recordings.Step) string {
	t.Helper()
	for _, raw := range s.Objects()["GitRepository"] {
		var o struct {
			Metadata struct{ Name string }
			Status   struct{ Artifact struct{ Revision string } }
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		if o.Metadata.Name == "fleet" {
			return o.Status.Artifact.Revision[strings.LastIndex(o.Status.Artifact.Revision, ":")+1:]
		}
	}
	return ""
}

// appliedBy returns the commit that the recorded Kustomization has applied after a step, and found healthy.
func (r recorded) appliedBy(t *testing.T, s recordings.Step) string {
	t.Helper()
	var o struct {
		Status struct{ LastAppliedRevision string }
	}
	if err := json.Unmarshal(s.Find(r.object), &o); err != nil {
		t.Fatal(err)
	}
	return o.Status.LastAppliedRevision[strings.LastIndex(o.Status.LastAppliedRevision, ":")+1:]
}

// readContent returns what the recorded commits have: what was created, changed and deleted once they were fetched.
func (r recorded) readContent(t *testing.T, recording *recordings.Recording) map[string]objects {
	content, now, commit := map[string]objects{}, objects{}, ""
	for _, s := range recording.Steps {
		if next := fleetOf(t, s); next != commit {
			commit = next
			content[commit] = maps.Clone(now)
		}
		if s.Event == nil || s.Event.Object != r.object || s.Event.Reason != "Progressing" || strings.HasPrefix(s.Event.Message, "Health check") {
			continue
		}
		for line := range strings.Lines(s.Event.Message) {
			name, change, _ := strings.Cut(strings.TrimSpace(line), " ")
			now[name] = object{digest: tree.HashBlob([]byte(commit))}
			if change == "deleted" {
				delete(now, name)
			}
		}
		content[commit] = maps.Clone(now)
	}
	return content
}

func (r recorded) replay(t *testing.T, recording *recordings.Recording) {
	var got, want reported
	content, now, commit, applied := r.readContent(t, recording), recording.Start, "", ""
	c := &cluster{Cluster: Cluster{"dev-cloud", "dev", "first"}, options: Options{Timeout: 10 * time.Minute, CancelsChecks: r.cancels}}
	c.waits = func() bool { return c.revision != applied }
	for _, s := range recording.Steps {
		for ; now.Before(s.Time); now = now.Add(100 * time.Millisecond) {
			if commit == "" {
				continue
			}
			if err := c.reconcile(commit, now, func() (objects, error) { return content[commit], nil }); err != nil {
				t.Fatal(err)
			}
		}
		if r.until != "" && strings.Contains(s.Did, r.until) || strings.Contains(s.Did, "end of the recording") {
			break
		}
		commit = fleetOf(t, s)
		if s.Object == r.object {
			applied = r.appliedBy(t, s)
		}
		if s.Event != nil && s.Event.Object == r.object {
			want.add(map[string]string{"Normal": "info", "Warning": "error"}[s.Event.Type], s.Event.Reason, s.Event.Message)
		}
	}
	for _, e := range c.unsent {
		reason := e.reason
		got.add(e.fluxEvent().Severity, reason, e.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
		t.Errorf("simulated otherwise than recorded (-recorded +simulated):\n%s", diff)
	}
}
