package agentapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// randomEntries returns some objects of a few, of which each is in one of a few states.
func randomEntries(random *rand.Rand) []Entry {
	var all []Entry
	for i := range 8 {
		if random.IntN(3) == 0 {
			continue
		}
		all = append(all, Entry{
			Kind: []string{"Kustomization", "HelmRelease"}[i%2], Namespace: "apps", Name: fmt.Sprintf("app-%d", i/2),
			Phase: []string{"ready", "failed"}[random.IntN(2)], Revision: []string{"a", "b"}[random.IntN(2)], Since: noon,
			Past: []Past{{Revision: fmt.Sprint(random.IntN(5))}},
		})
	}
	return all
}

// TestDiff: a change, applied to what it is a difference from, is what it was made from. The digest is
// the same for the same objects, and another one for others.
func TestDiff(t *testing.T) {
	digests := map[string]string{}
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 1))
		entries := randomEntries(random)
		from, to := NewState(randomEntries(random), nil), NewState(entries, nil)
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		if shuffled := NewState(entries, nil); shuffled.Digest != to.Digest {
			t.Fatalf("seed %d: in another order the digest is %s, want %s", seed, shuffled.Digest, to.Digest)
		}
		changed, gone := to.Diff(from)
		applied := slices.DeleteFunc(slices.Clone(from.Entries()), func(e Entry) bool {
			return slices.Contains(gone, e.ObjectName()) || slices.ContainsFunc(changed, func(c Entry) bool { return c.compare(e) == 0 })
		})
		if got := NewState(append(applied, changed...), nil); got.Digest != to.Digest {
			t.Fatalf("seed %d: (-want +got)\n%s", seed, cmp.Diff(to.Entries(), got.Entries()))
		}
		if len(changed)+len(gone) > 0 != (from.Digest != to.Digest) {
			t.Fatalf("seed %d: %d entries and %d gone, between %s and %s", seed, len(changed), len(gone), from.Digest, to.Digest)
		}
		text := strings.Join(to.lines, "\n")
		if known, ok := digests[to.Digest]; ok && known != text {
			t.Fatalf("seed %d: two states have one digest", seed)
		}
		digests[to.Digest] = text
	}
}

// TestUnreadInDigest: that a kind cannot be read is a change, and its objects are not gone.
func TestUnreadInDigest(t *testing.T) {
	all := []Entry{{Kind: "HelmRelease", Namespace: "a", Name: "b", Phase: "ready"}, {Kind: "Kustomization", Namespace: "a", Name: "b", Phase: "ready"}}
	before, after := NewState(all, nil), NewState(all[1:], []Unread{{"HelmRelease", "forbidden"}})
	changed, gone := after.Diff(before)
	if len(changed)+len(gone) > 0 || before.Digest == after.Digest || NewState(all[1:], nil).Digest == after.Digest {
		t.Errorf("changed %v, gone %v", changed, gone)
	}
}

// TestTooManyObjects: of more objects than can be reported the first ones are.
func TestTooManyObjects(t *testing.T) {
	var all []Entry
	for i := range MaxEntries + 10 {
		all = append(all, Entry{Kind: "Application", Namespace: "argocd", Name: fmt.Sprintf("app-%05d", i), Phase: "ready"})
	}
	if n := len(NewState(all, nil).Entries()); n != MaxEntries {
		t.Errorf("%d objects", n)
	}
	if n := len(NewState(append(all[:1:1], all[0]), nil).Entries()); n != 1 {
		t.Errorf("one object is there %d times", n)
	}
}

// TestRoundTrip: what is read is what was written.
func TestRoundTrip(t *testing.T) {
	r := Request{
		Version: 1, Cluster: "east-1", UID: "1", Boot: "a", Sequence: 7, Sent: noon, Every: "1m0s", Count: 1, Digest: "d", Base: "b",
		Entries: []Entry{{
			Kind: "Kustomization", Namespace: "flux-system", Name: "fleet", UID: "2", Phase: "failed", Reason: "BuildFailed", Revision: "a", Attempted: "b",
			Origin: "c", AttemptedOrigin: "d", Source: &Source{"u", "r", "p"}, Since: noon, Message: "m", Observed: true, Inventory: 3, App: "v",
			Past: []Past{{"x", true, noon, noon}},
		}},
		Gone: []string{"Kustomization/a/b"}, Unread: []Unread{{"HelmRelease", "forbidden"}}, Agent: "v1",
	}
	for _, compress := range []bool{false, true} {
		body, err := r.Encode(compress)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(body, compress)
		if diff := cmp.Diff(r, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

// TestVerify: any of the keys is good, and an empty one never.
func TestVerify(t *testing.T) {
	body := []byte("{}")
	signature := Sign("old", http.MethodPost, body)
	for _, c := range []struct {
		keys []string
		good bool
	}{{[]string{"old"}, true}, {[]string{"new", "old"}, true}, {[]string{"new"}, false}, {nil, false}, {[]string{""}, false}} {
		if got := Verify(signature, c.keys, http.MethodPost, body); got != c.good {
			t.Errorf("by %q: %t", c.keys, got)
		}
	}
	if Verify(Sign("", http.MethodPost, body), []string{""}, http.MethodPost, body) {
		t.Error("an empty key is one")
	}
}

// TestReports shows what entries become: what an object was, when it got into its phase, and what it is.
func TestReports(t *testing.T) {
	a, b := "main@sha1:"+strings.Repeat("a", 40), "main@sha1:"+strings.Repeat("b", 40)
	minutes := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		name  string
		entry Entry
		want  string
	}{
		{"ready", Entry{Phase: "ready", Revision: a}, "12:00 ready a"},
		{"an old form", Entry{Phase: "ready", Revision: "main/" + strings.Repeat("a", 40)}, "12:00 ready a"},
		{"for some time", Entry{Phase: "ready", Revision: a, Since: minutes(-5)}, "11:55 ready a, 12:00 ready a"},
		{"ready by a clock that is ahead", Entry{Phase: "ready", Revision: a, Since: minutes(5)}, "12:00 ready a"},
		{"failed", Entry{Phase: "failed", Revision: a, Attempted: b}, "12:00 failed b runs a"},
		{"failed at what runs", Entry{Phase: "failed", Revision: a}, "12:00 failed a runs a"},
		{"failed at the first", Entry{Phase: "failed", Attempted: b}, "12:00 failed b"},
		{"ready at nothing", Entry{Phase: "ready"}, "12:00 unknown"},
		{"a word that is no phase", Entry{Phase: "happy", Revision: a}, "12:00 unknown a runs a"},
		{"an artifact", Entry{Phase: "ready", Revision: "latest@sha256:1", Origin: a}, "12:00 ready a"},
		{"an artifact that fails", Entry{Phase: "failed", Revision: "latest@sha256:1", Origin: a, Attempted: "latest@sha256:2", AttemptedOrigin: b}, "12:00 failed b runs a"},
		{"an artifact that nothing is known of", Entry{Phase: "failed", Revision: "latest@sha256:1", Origin: a, Attempted: "latest@sha256:2"}, "12:00 failed latest@sha256:2 runs a"},
		{"a chart", Entry{Phase: "ready", Revision: "2.1.0+0cc9a8446c95", App: "6.6.1"}, "12:00 ready 2.1.0+0cc9a8446c95 (6.6.1)"},
		{"a chart that fails", Entry{Phase: "failed", Revision: "2.1.0", Attempted: "2.2.0", App: "6.6.1"}, "12:00 failed 2.2.0 runs 2.1.0 (6.6.1)"},
		{"its past", Entry{Phase: "ready", Revision: b, Past: []Past{{b, true, minutes(-10), minutes(-1)}, {a, false, minutes(-30), minutes(-20)}}}, "11:30-11:50 failed a, 11:50-12:00 ready b, 12:00 ready b"},
		{"its past, up to what it is", Entry{Phase: "ready", Revision: b, Since: minutes(-15), Past: []Past{{a, false, minutes(-30), minutes(-20)}}}, "11:30-11:45 failed a, 11:45 ready b, 12:00 ready b"},
		{"a past that lasts", Entry{Phase: "failed", Revision: a, Attempted: b, Message: "denied", Past: []Past{{b, false, minutes(-10), minutes(-1)}}}, "11:50-12:00 failed b: denied, 12:00 failed b runs a: denied"},
		{"a past that is still to come", Entry{Phase: "ready", Revision: b, Past: []Past{{a, true, minutes(1), minutes(2)}}}, "12:00 ready b"},
	} {
		c.entry.Kind, c.entry.Name = "Kustomization", "x"
		var parts []string
		for _, r := range (Request{Sent: noon, Entries: []Entry{c.entry}}).Reports(0) {
			parts = append(parts, describeReport(r))
		}
		if got := strings.Join(parts, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func describeReport(r ledger.Report) string {
	text := r.Said.Format("15:04")
	if !r.Until.IsZero() {
		text += r.Until.Format("-15:04")
	}
	text += " " + r.Phase.String()
	short := func(revision string) string {
		if commit, ok := strings.CutPrefix(revision, "main@sha1:"); ok {
			return commit[:1]
		}
		return revision
	}
	if r.Target != "" {
		text += " " + short(r.Target)
	}
	if r.Runs != "" {
		text += " runs " + short(r.Runs)
	}
	if r.App != "" {
		text += " (" + r.App + ")"
	}
	if !r.Level {
		text += " (an event)"
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}
