package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// LaneTrailer names a lane and its version, as "shop@COMMIT": in messages of outputs, of promotions and of actions.
const LaneTrailer = "Fairlead-Lane"

// Trailers of our commits.
const (
	trailerEnvironment  = "Fairlead-Environment"
	trailerBase         = "Fairlead-Base"
	trailerControlPlane = "Fairlead-Control-Plane"
	trailerWorkload     = "Fairlead-Workload"
	trailerAdvance      = "Fairlead-Advance"
	trailerDigest       = "Fairlead-Digest"
)

func (w *attempt) changeTitle() string {
	return forge.FitTitle(subjectOf(w.p) + ": " + w.changeSummary())
}

func subjectOf(p Proposal) string {
	return strings.TrimSpace(p.Environment + " " + p.Step.name())
}

// Titles have at most maxTitle characters, which Git and forges show. The change gets at least
// minSummary.
const maxTitle, minSummary = 72, 32

func (w *attempt) changeSummary() string {
	room := max(minSummary, maxTitle-utf8.RuneCountInString(subjectOf(w.p)+": "))
	moves := w.moveSummary()
	switch {
	case w.report.IsEmpty():
		return moves
	case moves != "":
		return moves + "; " + w.report.Title(max(minSummary, room-utf8.RuneCountInString(moves+"; ")))
	}
	return w.report.Title(room)
}

func commitMessage(p Proposal, title, digest string) string {
	return fmt.Sprintf("%s\n\n%s%s: %s\n", title, inputTrailers(p), trailerDigest, text.OneLine(digest))
}

func inputTrailers(p Proposal) string {
	var b strings.Builder
	trailer := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, text.OneLine(value)) }
	trailer(trailerEnvironment, p.Environment)
	for _, c := range p.Inputs {
		switch {
		case c.Commit == "":
		case c.Layer == BaseLayer:
			trailer(trailerBase, c.Commit)
			for _, name := range slices.Sorted(maps.Keys(c.Lanes)) {
				trailer(LaneTrailer, name+"@"+c.Lanes[name])
			}
		case c.Layer == p.Environment:
			trailer(trailerControlPlane, c.Commit)
		default:
			trailer(trailerWorkload, c.Layer+"@"+c.Commit)
		}
	}
	if p.Step != nil {
		trailer(trailerAdvance, wave.NewID(p.Environment, p.Step.Target)+" "+p.Step.name())
	}
	return b.String()
}

// Trailers parses the "Key: value" lines of the last paragraph, unless it is the first.
func Trailers(message string) map[string][]string {
	found := map[string][]string{}
	message = strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	i := strings.LastIndex(message, "\n\n")
	for line := range strings.Lines(message[max(i, 0):]) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && i >= 0 {
			found[key] = append(found[key], value)
		}
	}
	return found
}

func treeDigest(environment, root string) string { return digestOf(environment, root) }

// contentDigest identifies the content in a pull request, so that a closed one is not opened again.
func contentDigest(p Proposal) string {
	return digestOf(p.Environment, CleanFolder(p.Folder), withoutMetadata(p.Rendered).ID().String())
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sortedInputs(environment string, inputs []source.Commit) []source.Commit {
	rank := func(c source.Commit) int {
		switch c.Layer {
		case BaseLayer:
			return 0
		case environment:
			return 1
		}
		return 2
	}
	return slices.SortedFunc(slices.Values(inputs), func(a, b source.Commit) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Repo, b.Repo),
			cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Folder, b.Folder))
	})
}

func commitTime(inputs []source.Commit) time.Time {
	newest := time.Unix(0, 0).UTC() // if all inputs are folders
	for _, c := range inputs {
		if c.When.After(newest) {
			newest = c.When
		}
	}
	return newest
}
