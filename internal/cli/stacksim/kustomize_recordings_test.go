package stacksim

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// kustomizeRecordings are the recordings of Kustomizations over components, and whether kustomize-controller had the
// feature gate CancelHealthCheckOnNewRevision.
var kustomizeRecordings = map[string]bool{
	"11a-destroy-auto-order-no-seal":    false,
	"11b-destroy-auto-order-seal":       false,
	"15a-kustomization-default-no-seal": false,
	"15b-kustomization-default-seal":    false,
	"15c-kustomization-gate-seal":       true,
}

// TestKustomizeRecordings gives the simulated cluster the output of each recording, and compares what its Kustomizations
// and Terraform objects are with what the real ones were.
func TestKustomizeRecordings(t *testing.T) {
	for name, cancels := range kustomizeRecordings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded := recordings.Load(t, name)
			r := newKustomizeReplay(t, recorded)
			r.c.options.CancelsChecks = cancels
			for _, s := range recorded.Steps {
				r.runUntil(s.Time)
				if strings.Contains(s.Did, "end of the recording") {
					break
				}
				r.do(s)
			}
			for object, want := range r.want {
				got := r.got[object]
				if got == nil {
					t.Fatalf("there is no %s", object)
				}
				if diff := cmp.Diff(want.list(), got.list()); diff != "" {
					t.Errorf("%s: simulated otherwise than recorded (-recorded +simulated):\n%s", object, diff)
				}
			}
		})
	}
}

// kustomizeReplay is a simulated cluster that applies the output of a recording.
type kustomizeReplay struct {
	*terraformReplay
	outputs   map[string]tree.Tree
	head      string
	begins    bool
	roots     map[string]bool
	artifacts map[objectKey]string  // commits that the recorded sources have fetched
	fetched   map[objectKey]*object // sources as they were when the simulated ones had
	pushed    commits
	got, want map[string]*sequence
}

func newKustomizeReplay(t *testing.T, recorded *recordings.Recording) *kustomizeReplay {
	r := &kustomizeReplay{
		terraformReplay: newTerraformReplay(t), outputs: map[string]tree.Tree{}, roots: map[string]bool{},
		artifacts: map[objectKey]string{}, fetched: map[objectKey]*object{},
		got: map[string]*sequence{}, want: map[string]*sequence{},
	}
	clear(r.c.kustomizations)
	r.c.requeue = 2 * time.Second // as in the recordings
	r.c.watch = func(o *object) {
		current, s, ok := r.c.findStatus(o)
		if !ok {
			r.add(r.got, o.String(), "deleted", "")
			return
		}
		raw, err := current.encode(s)
		if err != nil {
			t.Fatal(err)
		}
		r.note(r.got, o.String(), raw)
	}
	commit := ""
	for i, s := range recorded.Steps { // what a commit has is what was applied of it before the next
		push, isPush := strings.CutPrefix(s.Did, "git push dev ")
		if (isPush || i == len(recorded.Steps)-1) && commit != "" {
			r.outputs[commit] = r.newOutput(recorded.Steps[i-1])
		}
		if isPush {
			commit, _, _ = strings.Cut(push, ": ")
		}
	}
	return r
}

// newOutput returns the output that has the objects of a step.
func (r *kustomizeReplay) newOutput(s recordings.Step) tree.Tree {
	r.t.Helper()
	var b tree.Builder
	add := func(file, text string) {
		if err := b.Add(file, []byte(text)); err != nil {
			r.t.Fatal(err)
		}
	}
	objects := s.Objects()
	for _, raw := range objects["Kustomization"] {
		o := r.newObject(raw)
		if !strings.Contains(strings.Trim(path.Clean("/"+o.spec.Path), "/"), "/") {
			continue
		}
		add(objectsFolder+"/"+o.name+"/flux-kustomization.yaml", r.applied(raw))
		folder := strings.Trim(path.Clean("/"+o.spec.Path), "/")
		for _, seal := range o.spec.Components {
			add(path.Join(folder, seal, "kustomization.yaml"), "kind: Component\n")
		}
		for _, kind := range []string{"Terraform", "GitRepository"} {
			for _, part := range objects[kind] {
				if p := r.newObject(part); p.name == o.name {
					add(path.Join(folder, strings.ToLower(kind)+".yaml"), r.applied(part))
				}
			}
		}
	}
	return b.Tree()
}

// applied returns an object as it was applied.
func (r *kustomizeReplay) applied(raw json.RawMessage) string {
	r.t.Helper()
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		r.t.Fatal(err)
	}
	seen := readSeen(r.t, raw)
	delete(o, "status")
	notes := map[string]string{}
	if seen.Kind == "GitRepository" {
		notes["kustomize.toolkit.fluxcd.io/prune"] = "disabled" // whether it or what uses it goes first is chance, too
	}
	o["metadata"] = map[string]any{
		"name": seen.Metadata.Name, "namespace": seen.Metadata.Namespace,
		"annotations": notes,
		"labels":      map[string]string{"fairlead.io/team": "shop", "fairlead.io/stack": "dev", "fairlead.io/component": strings.TrimPrefix(seen.Metadata.Name, "shop-dev-")},
	}
	text, err := json.Marshal(o)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text) + "\n"
}

func (r *kustomizeReplay) add(to map[string]*sequence, object, ready, state string) {
	if to[object] == nil {
		to[object] = &sequence{}
	}
	to[object].add(ready, state)
}

// note notes the state of an object.
func (r *kustomizeReplay) note(to map[string]*sequence, object string, raw json.RawMessage) {
	s := readSeen(r.t, raw)
	switch s.Kind {
	case "Kustomization":
		r.add(to, object, s.has("Ready"), fmt.Sprintf("attempted %s, applied %s", r.pushed.letter(s.Status.LastAttemptedRevision), r.pushed.letter(s.Status.LastAppliedRevision)))
	case "Terraform":
		r.add(to, object, s.has("Ready"), r.commits.describeTerraform(s))
	}
}

// runUntil has the cluster run until a time.
func (r *kustomizeReplay) runUntil(end time.Time) {
	r.t.Helper()
	if r.now.IsZero() {
		r.now = end
	}
	for ; r.now.Before(end); r.now = r.now.Add(100 * time.Millisecond) {
		head := ""
		if r.begins {
			head = r.head
		}
		if err := r.c.reconcile(head, r.outputs[head], r.now, r.readModule); err != nil {
			r.t.Fatal(err)
		}
		for key, s := range r.c.sources { // whether a source or what uses it comes first is chance
			if r.artifacts[key] == s.commit() {
				r.fetched[key] = s.object
			}
			s.fetched = r.fetched[key]
		}
	}
}

// readModule returns what a commit makes.
func (r *kustomizeReplay) readModule(commit, _ string) (module, error) {
	r.write("shop-dev-database.fails", r.fails[commit])
	return module{digest: r.makes[commit]}, nil
}

// do does a step of a recording.
func (r *kustomizeReplay) do(s recordings.Step) {
	r.t.Helper()
	push, isPush := strings.CutPrefix(s.Did, "git push ")
	raw := s.Find(s.Object)
	switch {
	case strings.HasPrefix(push, "dev "):
		commit, why, _ := strings.Cut(strings.TrimPrefix(push, "dev "), ": ")
		r.pushed.push(commit)
		if strings.HasPrefix(why, "destruction of database approved") { // what it needs is gone, and a plan evaluates it
			for _, module := range r.commits {
				r.fails[module] = "plan"
			}
		}
	case isPush:
		r.push(push)
	case s.Object == "":
	case raw == nil:
		r.add(r.want, s.Object, "deleted", "")
	default:
		r.note(r.want, s.Object, raw)
		if strings.HasPrefix(s.Object, "Terraform/") {
			r.observe(raw)
		}
		r.take(s.Object, raw)
	}
}

// take gives the cluster what it has from outside: its roots, and the commit that it has fetched.
func (r *kustomizeReplay) take(name string, raw json.RawMessage) {
	r.t.Helper()
	o := r.newObject(raw)
	switch {
	case o.kind == "Kustomization" && !strings.Contains(strings.Trim(path.Clean("/"+o.spec.Path), "/"), "/"):
		if !r.roots[name] {
			r.c.applyKustomization(o)
		}
		r.roots[name] = true
		r.begins = r.begins || readSeen(r.t, raw).has("Ready") == "Unknown/Progressing" // its controller was busy before
	case o.kind == "GitRepository" && o.name != rootSource:
		revision := readSeen(r.t, raw).Status.Artifact.Revision
		r.artifacts[o.objectKey] = revision[strings.LastIndex(revision, ":")+1:]
	case o.kind == "GitRepository":
		if revision := readSeen(r.t, raw).Status.Artifact.Revision; revision != "" {
			r.head = revision[strings.LastIndex(revision, ":")+1:]
			if !slices.Contains(slices.Collect(maps.Keys(r.outputs)), r.head) {
				r.t.Fatalf("there is no output at %s", revision)
			}
		}
	}
}
