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

// Entry is one object as an agent read it. It omits meaningless changes, such as the time and
// duration of the last attempt.
type Entry struct {
	Kind      string `json:"kind"`
	Namespace string `json:"ns"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Phase is the name of a [ledger.Phase].
	Phase  string `json:"phase"`
	Reason string `json:"reason,omitempty"`
	// Revision is what runs, and Attempted what Phase is about, if it differs.
	Revision  string `json:"rev,omitempty"`
	Attempted string `json:"attempted,omitempty"`
	// Origin and AttemptedOrigin are the source commits of the artifacts.
	Origin          string `json:"origin,omitempty"`
	AttemptedOrigin string `json:"attemptedOrigin,omitempty"`
	// Source is nil if unknown.
	Source *Source `json:"src,omitempty"`
	// Since is the start of the phase; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Message is one line.
	Message string `json:"msg,omitempty"`
	// Plan is the waiting plan, or an applied destroy plan.
	Plan ledger.Plan `json:"plan,omitzero"`
	// Observed is set if the status is about the newest generation.
	Observed bool `json:"gen"`
	// Inventory counts the applied objects.
	Inventory int `json:"inv,omitempty"`
	// App is the application version of a chart.
	App string `json:"app,omitempty"`
	// HeldUp is set if the controller still runs the health check of an older revision.
	HeldUp bool `json:"heldUp,omitempty"`
	// Past has earlier states, newest first. They are sent after an outage of the ledger and are
	// not part of the digest.
	Past []Past `json:"past,omitempty"`
}

// Source is the origin of an object.
type Source struct {
	URL  string `json:"url"`
	Ref  string `json:"ref,omitempty"`  // branch or other reference
	Path string `json:"path,omitempty"` // folder
}

// Past is an earlier state of an object.
type Past struct {
	Revision string    `json:"rev"`
	Ready    bool      `json:"ready"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// ObjectName returns the name in the ledger: "Kustomization/flux-system/apps".
func (e Entry) ObjectName() string { return e.Kind + "/" + e.Namespace + "/" + e.Name }

func (e Entry) phase() ledger.Phase { return ledger.ParsePhase(e.Phase) }

func (e Entry) compare(other Entry) int {
	return cmp.Or(cmp.Compare(e.Kind, other.Kind), cmp.Compare(e.Namespace, other.Namespace), cmp.Compare(e.Name, other.Name))
}

func (e Entry) canonical() string {
	e.Past = nil
	e.Since = e.Since.UTC()
	line, err := json.Marshal(e)
	if err != nil { // a year outside 0 to 9999
		return fmt.Sprintf("%+v", e)
	}
	return string(line)
}

// State is the state of all readable objects of a cluster.
type State struct {
	Digest  string
	entries []Entry
	lines   []string
	unread  []Unread
}

// NewState returns a State. It drops objects beyond MaxEntries and duplicates.
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

// IsMoving reports whether an object is progressing or checking.
func (s State) IsMoving() bool {
	return slices.ContainsFunc(s.entries, func(e Entry) bool { return e.phase() == ledger.Progressing || e.phase() == ledger.Checking })
}

// Diff returns the entries that changed since base, and the names of removed objects. It reports no
// removals for unread kinds.
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
