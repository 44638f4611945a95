// Package inside finds the sources in an output that a change moves, such as commits, charts and
// artifacts, and builds the objects that they hold.
//
// Only exact revisions are compared: what a range holds changes by itself.
package inside

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Kind is the kind of a source.
type Kind string

// The kinds of sources.
const (
	Git           Kind = "git"            // manifests in a repository
	GitChart      Kind = "git chart"      // a chart in a repository
	IndexedChart  Kind = "chart"          // a chart in an index
	ChartArtifact Kind = "chart artifact" // a chart in a registry
	Artifact      Kind = "artifact"       // manifests in a registry
)

// Source is an exact revision of a source, and how a reconciler builds objects from it.
type Source struct {
	Kind     Kind
	URL      string
	Revision string // commit, version, digest or tag
	Chart    string // name in the index
	Path     string // folder in the source
	// Name and Namespace are of the release. A Kustomization has only a target namespace.
	Name, Namespace string
	// Settings are YAML: the values of a chart, or the fields of a Kustomization that change its
	// objects.
	Settings string
}

func (s Source) isChart() bool { return s.Kind != Git && s.Kind != Artifact }

// Move is a reconciler whose source moves.
type Move struct {
	ClusterType, Target string
	Object              string // "HelmRelease/shop"
	From, To            Source
	Reason              Reason // why neither source is looked at; "" if they are
}

// Reason is why a source was not looked at.
type Reason string

// The reasons.
const (
	Range       Reason = "range"       // the revision is not exact
	Private     Reason = "private"     // credentials are missing or refused
	NotFound    Reason = "not found"   // the source or the revision does not exist
	TooLarge    Reason = "too large"   // beyond the bounds of size
	TooMany     Reason = "too many"    // beyond the number of sources in one change
	NotAllowed  Reason = "not allowed" // the settings do not allow its host
	Failed      Reason = "failed"      // it cannot be built
	Unreachable Reason = "unreachable" // its host does not answer
	Pending     Reason = "pending"     // it is being fetched
	Unsupported Reason = "unsupported" // such as ssh or a bucket
	Digest      Reason = "digest"      // it is not what its index names
	NotBuilt    Reason = "not built"   // a setting that is not built changes
)

var clauses = map[Reason]string{
	Range:       "is a range or a branch, not one version",
	Private:     "is private, and Fairlead has no credentials for it",
	NotFound:    "does not exist in its source",
	TooLarge:    "is too large",
	TooMany:     "is in a change that moves too many sources",
	NotAllowed:  "is on a host that the settings do not allow (network.allow)",
	Failed:      "cannot be built",
	Unreachable: "cannot be reached",
	Pending:     "is being fetched",
	Unsupported: "is of a kind that Fairlead cannot read",
	Digest:      "is not the content that its index names, which has another digest",
	NotBuilt:    "has postBuild or postRenderers, which Fairlead does not build",
}

// IsTemporary reports whether a later look may succeed without a change of the source.
func (r Reason) IsTemporary() bool { return r == Unreachable || r == Pending }

// Built is what a source holds, as one file for each object, or the reason why that is unknown.
type Built struct {
	Objects tree.Tree
	Reason  Reason
	Detail  string // of the error; "" for none
}

// Unread is a move that was not looked at.
type Unread struct {
	Object string `json:"object"`
	From   string `json:"from"`
	To     string `json:"to"`
	Of     string `json:"of,omitempty"` // the one that is unknown; "" for both
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Sentence explains the move.
func (u Unread) Sentence() string {
	s := fmt.Sprintf("what %s changes inside from %s to %s is unknown: ", u.Object, u.From, u.To)
	if u.From == u.To {
		s = fmt.Sprintf("what the settings of %s change inside of %s is unknown: ", u.Object, u.To)
	}
	s += cmp.Or(u.Of, "it") + " " + clauses[u.Reason]
	if u.Detail != "" {
		s += ": " + u.Detail
	}
	return s
}

// Held is what a source holds.
type Held struct {
	Object   string   `json:"object" yaml:"object"` // the reconciler
	Kind     Kind     `json:"kind" yaml:"kind"`
	Revision string   `json:"revision" yaml:"revision"`
	Objects  []string `json:"objects,omitempty" yaml:"objects,omitempty"` // "StatefulSet.apps/db"
	Reason   Reason   `json:"reason,omitempty" yaml:"reason,omitempty"`
	Detail   string   `json:"detail,omitempty" yaml:"detail,omitempty"`
}

// HeldBy returns what the source of a move holds after it.
func (m Move) HeldBy(built func(Source) Built) Held {
	b := m.To.buildWith(built)
	h := Held{Object: m.Object, Kind: m.To.Kind, Revision: m.To.label(), Reason: b.Reason, Detail: b.Detail}
	for name := range b.Objects.All() {
		h.Objects = append(h.Objects, strings.TrimSuffix(name, ".yaml"))
	}
	return h
}

// String returns a line.
func (h Held) String() string {
	s := fmt.Sprintf("%s (%s %s): ", h.Object, h.Kind, h.Revision)
	switch {
	case h.Detail != "":
		return s + "unknown, it " + clauses[h.Reason] + ": " + h.Detail
	case h.Reason != "":
		return s + "unknown, it " + clauses[h.Reason]
	case len(h.Objects) == 0:
		return s + "no objects"
	}
	return s + strings.Join(h.Objects, ", ")
}

// Contents is what the sources of an assignment hold before and after a change.
type Contents struct {
	Old, New tree.Tree
	Unread   []Unread
	Unsure   tree.Tree // what a known version holds that an unknown one replaces
}

// Folder is the folder of an assignment below which [Collect] has the objects of its sources.
const Folder = "(inside)"

// Place is an assignment.
type Place struct{ ClusterType, Target string }

// Collect returns the contents of the assignments of moves.
func Collect(moves []Move, built func(Source) Built) map[Place]Contents {
	all := map[Place]Contents{}
	for _, m := range moves {
		at := Place{m.ClusterType, m.Target}
		all[at] = all[at].add(m, built)
	}
	return all
}

func (c Contents) add(m Move, built func(Source) Built) Contents {
	unread := Unread{Object: m.Object, From: m.From.label(), To: m.To.label(), Reason: m.Reason}
	if unread.Reason != "" {
		c.Unread = append(c.Unread, unread)
		return c
	}
	was, is := m.From.buildWith(built), m.To.buildWith(built)
	switch {
	case is.Reason != "":
		unread.Reason, unread.Detail = is.Reason, is.Detail
		if was.Reason != is.Reason {
			unread.Of = unread.To
		}
		if was.Reason == "" && is.Reason != Pending {
			c.Unsure = below(c.Unsure, m.Object, was.Objects)
		}
	case was.Reason != "":
		unread.Of, unread.Reason, unread.Detail = unread.From, was.Reason, was.Detail
	default:
		c.Old, c.New = below(c.Old, m.Object, was.Objects), below(c.New, m.Object, is.Objects)
		return c
	}
	c.Unread = append(c.Unread, unread)
	return c
}

func (s Source) buildWith(built func(Source) Built) Built {
	if reason := s.findReason(); reason != "" {
		return Built{Reason: reason}
	}
	return built(s)
}

// ReadableSources returns those of the sources that can be fetched.
func (m Move) ReadableSources() []Source {
	unreadable := func(s Source) bool { return m.Reason != "" || s.findReason() != "" }
	return slices.DeleteFunc([]Source{m.From, m.To}, unreadable)
}

// below adds the objects of a reconciler, which has a title of its own.
func below(t tree.Tree, object string, objects tree.Tree) tree.Tree {
	if objects.IsEmpty() {
		return t
	}
	kind, name, _ := strings.Cut(object, "/")
	wrapped := tree.Dir(kind, tree.FromEntries([]tree.Entry{tree.Dir(safeName(name), objects)}))
	both, err := tree.Union(t, tree.FromEntries([]tree.Entry{tree.Dir(Folder, tree.FromEntries([]tree.Entry{wrapped}))}))
	if err != nil {
		return t // the output has the reconciler twice
	}
	return both
}

const shownRevision = 12

// label is short for commits and digests.
func (s Source) label() string {
	if len(s.Revision) == 40 && (s.Kind == Git || s.Kind == GitChart) {
		return s.Revision[:shownRevision]
	}
	if len(s.Revision) > len("sha256:")+shownRevision && s.Revision[:7] == "sha256:" {
		return s.Revision[:len("sha256:")+shownRevision]
	}
	return s.Revision
}
