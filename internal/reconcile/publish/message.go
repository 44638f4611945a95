package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// The trailers of our commits: where the output came from.
const (
	trailerEnvironment  = "Fairlead-Environment"
	trailerBase         = "Fairlead-Base"
	trailerControlPlane = "Fairlead-Control-Plane"
	trailerWorkload     = "Fairlead-Workload"
	trailerDigest       = "Fairlead-Digest"
)

// commitMessage returns the text of the commit.
func commitMessage(p Proposal, title, digest string) string {
	return fmt.Sprintf("%s\n\n%s%s: %s\n", title, inputTrailers(p), trailerDigest, text.OneLine(digest))
}

// inputTrailers returns the lines of a commit's message that name what it was rendered from.
func inputTrailers(p Proposal) string {
	var b strings.Builder
	trailer := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, text.OneLine(value)) }
	trailer(trailerEnvironment, p.Environment)
	for _, c := range p.Inputs {
		switch {
		case c.Commit == "":
		case c.Layer == BaseLayer:
			trailer(trailerBase, c.Commit)
		case c.Layer == p.Environment:
			trailer(trailerControlPlane, c.Commit)
		default:
			trailer(trailerWorkload, c.Layer+"@"+c.Commit)
		}
	}
	return b.String()
}

// Trailers reads the trailers of a commit's message: the lines "Key: value" of its
// last paragraph, which is not its first.
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

// treeDigest names the whole tree of a commit. It is in the commit's message, so that an
// amendment is noticed.
func treeDigest(environment, root string) string { return digestOf(environment, root) }

// contentDigest names what is proposed, whatever else is on the branch. It is in the pull
// request, so that one that was closed is not opened again for the same content.
func contentDigest(p Proposal) string {
	return digestOf(p.Environment, CleanFolder(p.Folder), withoutMetadata(p.Rendered).ID().String())
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sortedInputs returns inputs in the one order that commits and records have them in: the
// base, the environment, and the workloads by name.
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

// commitTime is that of the newest input.
func commitTime(inputs []source.Commit) time.Time {
	newest := time.Unix(0, 0).UTC() // if all inputs are folders
	for _, c := range inputs {
		if c.When.After(newest) {
			newest = c.When
		}
	}
	return newest
}
