package stacksim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// seenObject is what the tests read of an object, recorded or simulated.
type seenObject struct {
	Kind     string
	Metadata struct {
		Namespace, Name   string
		Generation        int
		Annotations       map[string]string
		DeletionTimestamp string
	}
	Spec struct {
		ApprovePlan string
		Destroy     bool
	}
	Status struct {
		Conditions            []struct{ Type, Status, Reason string }
		LastAppliedRevision   string
		LastAttemptedRevision string
		LastPlannedRevision   string
		Artifact              struct{ Revision string }
		Plan                  struct {
			Pending, LastApplied string
			IsDestroyPlan        bool
			IsDriftDetectionPlan bool
		}
	}
}

func readSeen(t *testing.T, raw json.RawMessage) (s seenObject) {
	t.Helper()
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// has returns a condition as "True/Succeeded".
func (s seenObject) has(kind string) string {
	for _, c := range s.Status.Conditions {
		if c.Type == kind {
			return c.Status + "/" + c.Reason
		}
	}
	return "-"
}

// commits names commits by letters, in the order in which they were pushed.
type commits []string

func (c *commits) push(commit string) { *c = append(*c, commit) }

// letter returns the letter of the commit in a revision, or in the id of a plan; "-" for none.
func (c commits) letter(revision string) string {
	short := revision[strings.LastIndexAny(revision, ":-")+1:]
	for i, commit := range c {
		if short != "" && strings.HasPrefix(commit, short) {
			return string(rune('A' + i))
		}
	}
	return "-"
}

// describeTerraform returns the state of a Terraform object, without what is Ready: of its plans, their commits.
func (c commits) describeTerraform(s seenObject) string {
	status := s.Status
	text := fmt.Sprintf("plan %s, apply %s, pending %s, last applied %s, attempted %s, planned %s, applied %s",
		s.has("Plan"), s.has("Apply"), c.letter(status.Plan.Pending), c.letter(status.Plan.LastApplied),
		c.letter(status.LastAttemptedRevision), c.letter(status.LastPlannedRevision), c.letter(status.LastAppliedRevision))
	for word, is := range map[string]bool{", destroys": status.Plan.IsDestroyPlan, ", drifted": status.Plan.IsDriftDetectionPlan} {
		if is {
			text += word
		}
	}
	if s.has("Reconciling") != "-" && strings.HasPrefix(s.has("Ready"), "Unknown") { // the rest is the beginning of the next state
		text += ", reconciling"
	}
	return text
}

// sequence is what an object was, one after the other.
//
// Times and messages are left out. Of states that follow each other with the same condition Ready only the last one is
// kept: a controller writes its conditions, and a moment later the rest. A cycle, as that of checks for drift which
// find the same, is kept once. That a source is not fetched yet comes first or not, by chance.
type sequence struct {
	ready, states []string
	isWhole       bool // with what it begins with
}

func (q *sequence) add(ready, state string) {
	if ready == "-" {
		return
	}
	if n := len(q.ready); n > 0 && q.ready[n-1] == ready {
		q.states[n-1] = state
		return
	}
	q.ready, q.states = append(q.ready, ready), append(q.states, state)
}

// list returns the sequence without cycles.
func (q *sequence) list() (all []string) {
	for i := range q.ready {
		if i == 0 && q.ready[i] == "False/ArtifactFailed" && !q.isWhole {
			continue
		}
		all = append(all, q.ready[i]+": "+q.states[i])
		for n := 2; n <= 3 && 2*n <= len(all); n++ {
			if end := len(all); slices.Equal(all[end-n:], all[end-2*n:end-n]) {
				all = all[:end-n]
			}
		}
	}
	return all
}

// terraformRecordings are the recordings of Terraform objects that are applied by hand, and up to which step they are
// compared.
var terraformRecordings = map[string]string{
	"01-first-plan":                       "",
	"02-change-manual":                    "",
	"02b-change-manual-no-outputs-secret": "",
	"03-change-auto":                      "",
	"04-outputs-only":                     "",
	"05-no-changes":                       "",
	"06-plan-fails":                       "",
	"07-apply-fails-auto":                 "",
	"07-apply-fails-manual":               "",
	"08-drift":                            "",
	"08b-drift-auto":                      "",
	"09-drift-while-plan-waits":           "",
	"10a-destroy-manual":                  "",
	"10b-destroy-onDeletion":              "",
	"10c-destroy-onDeletion-unapproved":   "",
	"12-wrong-plan-id":                    "",
	"13-vars-same-commit":                 "",
	"13b-destroy-same-commit":             "",
	"14-suspend-force":                    "(spec.force)", // Fairlead never sets it
}

// TestTerraformRecordings gives the simulated tofu-controller what was done in each recording, at the same times, and
// compares what its objects are with what the real ones were.
func TestTerraformRecordings(t *testing.T) {
	for name, until := range terraformRecordings {
		t.Run(name, func(t *testing.T) {
			replay := newTerraformReplay(t)
			replay.got.isWhole, replay.want.isWhole = name == "06-plan-fails", name == "06-plan-fails"
			for _, s := range recordings.Load(t, name).Steps {
				replay.runUntil(s.Time)
				if until != "" && strings.Contains(s.Did, until) || strings.Contains(s.Did, "end of the recording") {
					break
				}
				replay.do(s)
			}
			got, want := replay.got.list(), replay.want.list()
			if len(want) < 4 {
				t.Fatalf("the recording has %q", want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("simulated otherwise than recorded (-recorded +simulated):\n%s", diff)
			}
		})
	}
}

// terraformReplay is a simulated cluster to which a recording is done.
type terraformReplay struct {
	t         *testing.T
	c         *cluster
	now       time.Time
	commits   commits
	makes     map[string]string // what a commit makes
	fails     map[string]string // and which step of it fails
	isMended  bool
	specs     map[string]string // of objects
	got, want sequence
	turns     map[objectKey]*turn
}

// turn is when tofu-controller takes up an object.
type turn struct {
	began  string    // with which state, if the last that was recorded is a beginning
	begins bool      // the recorded controller has taken up the object
	due    time.Time // since when there is something to do
}

func (r *terraformReplay) turn(of objectKey) *turn {
	if r.turns[of] == nil {
		r.turns[of] = &turn{}
	}
	return r.turns[of]
}

// busyFor is how long a controller may have been busy with objects of other recordings.
const busyFor = 20 * time.Second

func newTerraformReplay(t *testing.T) *terraformReplay {
	r := &terraformReplay{t: t, makes: map[string]string{}, fails: map[string]string{}, turns: map[objectKey]*turn{}, specs: map[string]string{}}
	r.c = newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: 500 * time.Millisecond})
	r.c.isBusy = r.isBusy
	r.c.watch = func(o *object) {
		if s := r.c.terraforms[o.objectKey]; s != nil {
			r.got.add(r.describe(r.encode(s)))
		} else {
			r.got.add("deleted", "")
		}
	}
	return r
}

func (r *terraformReplay) encode(o *terraform) json.RawMessage {
	r.t.Helper()
	raw, err := o.encode(r.c.statusOf(o))
	if err != nil {
		r.t.Fatal(err)
	}
	return raw
}

func (r *terraformReplay) describe(raw json.RawMessage) (ready, state string) {
	s := readSeen(r.t, raw)
	return s.has("Ready"), r.commits.describeTerraform(s)
}

// read returns what a commit makes with the variables of the object.
func (r *terraformReplay) read(commit, _ string) (module, error) {
	digest := r.makes[commit]
	if !r.isMended {
		r.write("shop-dev-database.fails", r.fails[commit])
	}
	for _, t := range r.c.terraforms {
		digest += fmt.Sprint(t.begun.spec.Vars)
	}
	return module{digest: digest}, nil
}

// runUntil has the controller run until a time.
func (r *terraformReplay) runUntil(end time.Time) {
	r.t.Helper()
	if r.now.IsZero() {
		r.now = end
	}
	for ; r.now.Before(end); r.now = r.now.Add(10 * time.Millisecond) {
		for _, t := range sortValues(r.c.terraforms) {
			if err := r.c.runTerraform(t, r.now, r.read); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// isBusy reports whether the controller has no worker for an object that is due: until the recorded one had one, or
// was busy for long enough.
func (r *terraformReplay) isBusy(t *terraform) bool {
	turn := r.turn(t.objectKey)
	if turn.due.IsZero() {
		turn.due = r.now
	}
	if !turn.begins && r.now.Sub(turn.due) < busyFor {
		return true
	}
	turn.begins, turn.due = false, time.Time{}
	return false
}

func (r *terraformReplay) write(file, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.c.options.Folder, file), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// do does a step of a recording.
func (r *terraformReplay) do(s recordings.Step) {
	r.t.Helper()
	push, isPush := strings.CutPrefix(s.Did, "git push ")
	kind, _, _ := strings.Cut(s.Object, "/")
	switch {
	case isPush:
		r.push(push)
	case strings.Contains(s.Did, "state of database edited"):
		r.write("shop-dev-database.drift", "a node is removed")
	case strings.HasPrefix(s.Did, "the cause is mended"):
		r.isMended = true
		r.write("shop-dev-database.fails", "")
	case strings.HasPrefix(s.Did, "resources in the state: "):
		isEmpty := strings.HasSuffix(s.Did, "0") || strings.HasSuffix(s.Did, "None")
		for _, t := range r.c.terraforms {
			if isEmpty != (t.made == nil) {
				r.t.Errorf("%s, simulated: %v", s.Did, t.made)
			}
		}
	case kind == "Terraform" && s.Find(s.Object) == nil:
		r.want.add("deleted", "")
	case kind == "Terraform":
		ready, state := r.describe(s.Find(s.Object))
		r.want.add(ready, state)
		r.observe(s.Find(s.Object))
		r.apply(s)
	case kind == "GitRepository":
		r.fetch(s.Find(s.Object))
	}
}

// observe notes that the recorded controller has taken up the object.
func (r *terraformReplay) observe(raw json.RawMessage) {
	s, text, begins := readSeen(r.t, raw), string(raw), ""
	ready := s.has("Ready")
	isAtWork := strings.Contains(text, `"Applying"`) || strings.Contains(text, `"Terraform Planning"`)
	if ready == "False/ArtifactFailed" && !strings.Contains(text, `"Reconciling"`) || ready == "Unknown/Progressing" && !isAtWork {
		begins = fmt.Sprint(ready, s.Metadata.Generation)
	}
	turn := r.turn(objectKey{s.Kind, s.Metadata.Namespace, s.Metadata.Name})
	turn.begins = turn.begins || begins != "" && begins != turn.began
	turn.began = begins
}

// push pushes a commit of a root module.
func (r *terraformReplay) push(what string) {
	_, what, _ = strings.Cut(what, " ")
	commit, why, _ := strings.Cut(what, ": ")
	before := ""
	if n := len(r.commits); n > 0 {
		before = r.makes[r.commits[n-1]]
	}
	r.commits.push(commit)
	r.makes[commit], r.fails[commit] = before, ""
	switch {
	case strings.Contains(why, "the third fails"):
		r.makes[commit] = why
		r.fails[commit] = "apply"
	case strings.HasPrefix(why, "a provider that cannot be had"):
		r.fails[commit] = "init"
	case strings.Contains(why, "error of Terraform"):
		r.fails[commit] = "plan"
	case why == "mended":
		r.makes[commit] = why
	case strings.Contains(why, "2 resources"), strings.Contains(why, "size"), strings.HasPrefix(why, "output zone"):
		r.makes[commit] = why
	}
}

// fetch has the cluster fetch the commit of a source, once the real one had it.
func (r *terraformReplay) fetch(raw json.RawMessage) {
	r.t.Helper()
	seen := readSeen(r.t, raw)
	o := r.newObject(raw)
	if strings.HasSuffix(seen.Status.Artifact.Revision, o.spec.Ref.Commit) {
		r.c.sources[o.objectKey] = &source{o, o}
	}
}

// apply applies an object if it has changed other than by its controller.
func (r *terraformReplay) apply(s recordings.Step) {
	r.t.Helper()
	raw := s.Find(s.Object)
	seen := readSeen(r.t, raw)
	spec := fmt.Sprint(seen.Metadata.Generation, seen.Metadata.Annotations[requestedAt], seen.Metadata.DeletionTimestamp)
	if r.specs[s.Object] == spec {
		return
	}
	r.specs[s.Object] = spec
	o := r.newObject(raw)
	o.labels = map[string]string{"fairlead.io/component": "database"}
	if r.c.terraforms[o.objectKey] == nil {
		r.c.terraforms[o.objectKey] = &terraform{}
	}
	known := r.c.terraforms[o.objectKey]
	known.object, known.isDeleted = o, seen.Metadata.DeletionTimestamp != ""
}

func (r *terraformReplay) newObject(raw json.RawMessage) *object {
	r.t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(raw, &n); err != nil {
		r.t.Fatal(err)
	}
	o, err := newObject(n.Content[0])
	if err != nil {
		r.t.Fatal(err)
	}
	seen := readSeen(r.t, raw)
	o.objectKey = objectKey{seen.Kind, seen.Metadata.Namespace, seen.Metadata.Name}
	o.generation = seen.Metadata.Generation
	return o
}
