// Package recordings replays what real controllers did: each state that an API server had of the objects of Flux
// and tofu-controller in a scenario.
//
// What the package keeps true: after each step an object is as an API server would have returned it at that time;
// no step of a recording is left out, and their order is that of the recording. The files in testdata are the
// recordings of 28 November 2026 (tofu-controller 0.16.5, kustomize-controller 1.9.4, helm-controller 1.6.3) without
// their ConfigMaps and Secrets. Times within a recording are exact to about a second: compare their order only.
package recordings

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

//go:embed testdata/*.jsonl.gz
var files embed.FS

// apiVersions are the versions by which the kinds of the recordings were read.
var apiVersions = map[string]string{
	"GitRepository": "source.toolkit.fluxcd.io/v1",
	"HelmChart":     "source.toolkit.fluxcd.io/v1",
	"HelmRelease":   "helm.toolkit.fluxcd.io/v2",
	"Kustomization": "kustomize.toolkit.fluxcd.io/v1",
	"Terraform":     "infra.contrib.fluxcd.io/v1alpha2",
}

// Recording is a scenario.
type Recording struct {
	Name     string // "02-change-manual"
	Scenario string // a sentence
	Start    time.Time
	Steps    []Step
}

// Step is one thing that happened. One of Did, Object and Event is set.
type Step struct {
	Time time.Time
	// Did is what a person did: "git push BRANCH COMMIT: why".
	Did string
	// Object is the object that has changed: "Terraform/s02/database".
	Object string
	Event  *Event

	objects map[string]object
}

// Event is an event of Kubernetes.
type Event struct {
	Object      string            `json:"object"`
	Type        string            `json:"type"`
	Reason      string            `json:"reason"`
	Message     string            `json:"message"`
	Count       int               `json:"count"`
	From        string            `json:"from"`
	Annotations map[string]string `json:"annotations"`
}

// object is an object after a step.
type object struct {
	spec, status map[string]json.RawMessage
	metadata     map[string]any
	raw          json.RawMessage
}

// Names returns the names of all recordings, sorted.
func Names(t testing.TB) (names []string) {
	t.Helper()
	entries, err := files.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".jsonl.gz"))
	}
	return names
}

// Load returns a recording.
func Load(t testing.TB, name string) *Recording {
	t.Helper()
	r, err := load(name)
	if err != nil {
		t.Fatalf("read the recording %s: %s", name, err)
	}
	return r
}

func load(name string) (*Recording, error) {
	packed, err := files.Open("testdata/" + name + ".jsonl.gz")
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	r := &Recording{Name: name}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	objects := map[string]object{}
	for n := 1; lines.Scan(); n++ {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if l.Scenario != "" {
			r.Scenario, r.Start = l.Scenario, l.Start
			continue
		}
		s := Step{Time: r.Start.Add(time.Duration(l.T * float64(time.Second))), Did: l.Did, Object: l.Object, Event: l.Event}
		if l.Object != "" {
			objects = maps.Clone(objects)
			if err := l.apply(objects, s.Time); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		s.objects = objects
		r.Steps = append(r.Steps, s)
	}
	return r, lines.Err()
}

// line is a line of a recording.
type line struct {
	T        float64                    `json:"t"`
	Scenario string                     `json:"scenario"`
	Start    time.Time                  `json:"start"`
	Did      string                     `json:"did"`
	Event    *Event                     `json:"event"`
	Object   string                     `json:"object"`
	Deleted  bool                       `json:"deleted"`
	Spec     map[string]json.RawMessage `json:"spec"`   // the keys that have changed; null if a key is gone
	Status   map[string]json.RawMessage `json:"status"` // without those in Same
	Same     []string                   `json:"same"`

	Generation        int64             `json:"generation"`
	Annotations       map[string]string `json:"annotations"` // nil if unchanged, as the following
	Finalizers        []string          `json:"finalizers"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
}

// apply changes the object of a line among all objects.
func (l line) apply(objects map[string]object, at time.Time) error {
	before, known := objects[l.Object]
	if l.Deleted {
		delete(objects, l.Object)
		return nil
	}
	parts := strings.Split(l.Object, "/")
	if !known {
		id := sha256.Sum256(fmt.Append(nil, l.Object, at.UnixNano()))
		before.metadata = map[string]any{
			"namespace": parts[1], "name": parts[2], "creationTimestamp": at.Format(time.RFC3339),
			"uid": fmt.Sprintf("%x-%x-4%x-8%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])[:36],
		}
	}
	now := object{spec: maps.Clone(before.spec), status: maps.Clone(l.Status), metadata: maps.Clone(before.metadata)}
	now.metadata["generation"] = l.Generation
	if l.Annotations != nil {
		now.metadata["annotations"] = l.Annotations
	}
	if l.Finalizers != nil {
		now.metadata["finalizers"] = l.Finalizers
	}
	if l.DeletionTimestamp != "" {
		now.metadata["deletionTimestamp"] = l.DeletionTimestamp
	}
	if now.spec == nil {
		now.spec = map[string]json.RawMessage{}
	}
	for key, value := range l.Spec {
		now.spec[key] = value
		if string(value) == "null" {
			delete(now.spec, key)
		}
	}
	for _, key := range l.Same { // of a status that has others
		now.status[key] = before.status[key]
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": apiVersions[parts[0]], "kind": parts[0], "metadata": now.metadata, "spec": now.spec, "status": now.status,
	})
	now.raw = raw
	objects[l.Object] = now
	return err
}

// Objects returns all objects after a step, by kind.
func (s Step) Objects() map[string][]json.RawMessage {
	all := map[string][]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		kind, _, _ := strings.Cut(name, "/")
		all[kind] = append(all[kind], s.objects[name].raw)
	}
	return all
}

// Find returns an object after a step, by its name: "Terraform/s02/database"; nil if there is none.
func (s Step) Find(name string) json.RawMessage { return s.objects[name].raw }

// Replay calls receive with what an agent on a cluster sends in a recording, wherever that differs from what it has sent
// before. With an interval it reads all objects so often, by the times of the recording. Without one it does so after
// each step, as if there was a second between two of them: so no state is missed, however short.
func (r *Recording) Replay(interval time.Duration, receive func(s Step, q agentapi.Request)) {
	digest := ""
	for i, s := range r.Steps {
		at := time.Date(2026, time.November, 28, 0, 0, i, 0, time.UTC)
		if interval > 0 {
			at = s.Time.Truncate(interval).Add(interval)
		}
		isLast := i+1 == len(r.Steps) || r.Steps[i+1].Time.Truncate(max(interval, 1)) != s.Time.Truncate(max(interval, 1))
		if interval > 0 && !isLast || interval == 0 && s.Object == "" {
			continue
		}
		state := agentapi.NewState(kubestatus.Read(s.Objects(), s.Time), nil)
		q := agentapi.Request{
			Version: 1, Cluster: "east-1", UID: "u", Boot: "b", Sequence: uint64(i + 1), Sent: at, Every: "5m", Full: true, Digest: state.Digest, Entries: state.Entries(),
		}
		for j := range q.Entries { // Flux's own times are of whole seconds: they would order what happens within one
			q.Entries[j].Since = time.Time{}
		}
		if digest != state.Digest {
			receive(s, q)
		}
		digest = state.Digest
	}
}

// Push is a commit that was pushed to a branch.
type Push struct {
	Commit string
	Time   time.Time
}

// Pushes returns the commits that were pushed to a branch, the oldest first.
func (r *Recording) Pushes(branch string) (all []Push) {
	for _, s := range r.Steps {
		if words := strings.Fields(s.Did); len(words) > 3 && words[1] == "push" && words[2] == branch {
			all = append(all, Push{strings.TrimSuffix(words[3], ":"), s.Time})
		}
	}
	return all
}
