package agentapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Entry is one object as an agent has read it. What moves without meaning is not in it: when
// something was last tried, and how long it took.
type Entry struct {
	Kind      string `json:"kind"`
	Namespace string `json:"ns"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Phase is the name of a [ledger.Phase].
	Phase  string `json:"phase"`
	Reason string `json:"reason,omitempty"`
	// Revision is what the object runs, and Attempted what Phase is about, if that is another one.
	Revision  string `json:"rev,omitempty"`
	Attempted string `json:"attempted,omitempty"`
	// Origin and AttemptedOrigin are the commits that the artifacts of these revisions were made of.
	Origin          string `json:"origin,omitempty"`
	AttemptedOrigin string `json:"attemptedOrigin,omitempty"`
	// Source is where the object comes from; nil if that is not known.
	Source *Source `json:"src,omitempty"`
	// Since is when the object got into its phase; zero if it does not say.
	Since time.Time `json:"since,omitzero"`
	// Message is one line.
	Message string `json:"msg,omitempty"`
	// Plan is the plan that waits for a person, or a plan of destruction that was applied.
	Plan ledger.Plan `json:"plan,omitzero"`
	// Observed is set if the status is about the newest specification.
	Observed bool `json:"gen"`
	// Inventory is how many objects it has applied.
	Inventory int `json:"inv,omitempty"`
	// App is the version of the application in a chart.
	App string `json:"app,omitempty"`
	// HeldUp is set if the controller finishes the health check of a revision although it has a newer one.
	HeldUp bool `json:"heldUp,omitempty"`
	// Past are earlier states, the newest first. They are sent after an outage of the ledger, and
	// are not part of the digest.
	Past []Past `json:"past,omitempty"`
}

// Source is where an object comes from.
type Source struct {
	URL  string `json:"url"`
	Ref  string `json:"ref,omitempty"`  // a branch, or another reference
	Path string `json:"path,omitempty"` // the folder
}

// Past is a state that an object was in.
type Past struct {
	Revision string    `json:"rev"`
	Ready    bool      `json:"ready"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// ObjectName returns the name of the object in the ledger: "Kustomization/flux-system/apps".
func (e Entry) ObjectName() string { return e.Kind + "/" + e.Namespace + "/" + e.Name }

// phase returns the phase as the ledger has it.
func (e Entry) phase() ledger.Phase { return ledger.ParsePhase(e.Phase) }

// compare orders entries by what they are about.
func (e Entry) compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Kind, other.Kind), cmp.Compare(e.Namespace, other.Namespace), cmp.Compare(e.Name, other.Name))
}

// canonical returns an entry as the line that its digest is made of.
func (e Entry) canonical() string {
	e.Past = nil
	e.Since = e.Since.UTC()
	line, err := json.Marshal(e)
	if err != nil { // a time out of the years 0 to 9999
		return fmt.Sprintf("%+v", e)
	}
	return string(line)
}

// State is all objects of a cluster at a time, as far as they could be read.
type State struct {
	// Digest identifies the state.
	Digest  string
	entries []Entry // sorted
	lines   []string
	unread  []Unread // sorted
}

// NewState returns the state of objects, and of kinds that could not be read. Of more than MaxEntries
// objects the last ones are left out; of two entries about the same object, one.
func NewState(entries []Entry, unread []Unread) State {
	s := State{entries: slices.Clone(entries), unread: slices.Clone(unread)}
	slices.SortFunc(s.unread, func(a, b Unread) int { return cmp.Compare(a.Kind, b.Kind) })
	slices.SortFunc(s.entries, Entry.compare)
	s.entries = slices.CompactFunc(s.entries, func(a, b Entry) bool { return a.compare(b) == 0 })
	s.entries = s.entries[:min(len(s.entries), MaxEntries)]
	h := sha256.New()
	for _, e := range s.entries {
		line := e.canonical()
		s.lines = append(s.lines, line)
		h.Write([]byte(line + "\n"))
	}
	for _, u := range s.unread {
		h.Write([]byte("unread " + u.Kind + "\n"))
	}
	s.Digest = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return s
}

// Entries returns all objects, sorted.
func (s State) Entries() []Entry { return s.entries }

// Unread returns the kinds that could not be read.
func (s State) Unread() []Unread { return s.unread }

// IsMoving reports whether an object is on its way from one state to another.
func (s State) IsMoving() bool {
	return slices.ContainsFunc(s.entries, func(e Entry) bool { return e.phase() == ledger.Progressing || e.phase() == ledger.Checking })
}

// Diff returns the entries that differ from those of an earlier state, and the names of the objects
// that are gone. Whether objects are gone whose kind could not be read is not known.
func (s State) Diff(base State) (changed []Entry, gone []string) {
	i := 0
	drop := func(e Entry) {
		if !slices.ContainsFunc(s.unread, func(u Unread) bool { return u.Kind == e.Kind }) {
			gone = append(gone, e.ObjectName())
		}
	}
	for n, e := range s.entries {
		for i < len(base.entries) && base.entries[i].compare(e) < 0 {
			drop(base.entries[i])
			i++
		}
		known := i < len(base.entries) && base.entries[i].compare(e) == 0
		if !known || base.lines[i] != s.lines[n] {
			changed = append(changed, e)
		}
		if known {
			i++
		}
	}
	for ; i < len(base.entries); i++ {
		drop(base.entries[i])
	}
	return changed, gone
}
