package publish

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Commits are those between two commits of a repository.
type Commits struct {
	All []git.CommitInfo // newest first
	// More reports that there are more than those.
	More bool
	// Back reports that the newer commit is an ancestor of the older one: All are left out again.
	Back bool
}

// The bounds of the commits of one layer: how many are read, and how many are kept.
const maxCommitsRead, maxCommits = 1000, 100

// ReadCommits returns the commits between two of a repository. What cannot be read is left out:
// the text of a pull request is not worth a failure.
func ReadCommits(repo *git.Repository, before, after string) Commits {
	if forward, err := repo.Contains(after, before); err == nil && forward {
		return readForward(repo, before, after)
	}
	if back, err := repo.Contains(before, after); err == nil && back {
		c := readForward(repo, after, before)
		c.Back = true
		return c
	}
	return Commits{}
}

func readForward(repo *git.Repository, before, after string) Commits {
	all, err := repo.CommitsBetween(before, after, maxCommitsRead)
	if err != nil {
		return Commits{}
	}
	isMerge := func(c git.CommitInfo) bool { return len(c.Parents) > 1 }
	if slices.ContainsFunc(all, func(c git.CommitInfo) bool { return !isMerge(c) }) {
		all = slices.DeleteFunc(all, isMerge) // what they bring is listed
	}
	return Commits{All: all[:min(len(all), maxCommits)], More: len(all) > maxCommits}
}

// layerCommits are the commits of a layer that a change brings.
type layerCommits struct {
	input  source.Commit
	before string // the commit that was rendered before; "" if the layer is new
	Commits
}

// findCommits finds the commits that the change brings: of each layer, those since the commit that
// the record of the output names.
func (w *attempt) findCommits() error {
	if w.p.CommitsSince == nil {
		return nil
	}
	record, err := w.options.Records.ReadIn(w.whole.Tree.Sub(CleanFolder(w.p.Folder)))
	if err != nil || len(record.Environments) == 0 {
		return err
	}
	before := map[Input]string{} // by layer and repository
	for _, written := range record.Environments {
		for _, in := range written.From {
			if written.Environment == w.p.Environment {
				before[Input{Layer: in.Layer, Repo: in.Repo}] = in.Commit
			}
		}
	}
	for _, in := range w.p.Inputs {
		was := before[Input{Layer: in.Layer, Repo: in.Repo}]
		if in.Commit == "" || in.Commit == was {
			continue
		}
		layer := layerCommits{input: in, before: was}
		if was != "" {
			layer.Commits = w.p.CommitsSince(in, was)
		}
		w.changelog = append(w.changelog, layer)
	}
	return nil
}

// maxLayers bounds the layers whose commits are shown.
const maxLayers = 20

// writeChangelog writes the commits that the change brings, up to n of each layer.
func writeChangelog(b *strings.Builder, layers []layerCommits, n int) {
	if len(layers) == 0 {
		return
	}
	b.WriteString("\n### Why\n\n")
	shown := maxLayers
	if n == 0 {
		shown = 0
	}
	for _, l := range layers[:min(shown, len(layers))] {
		l.write(b, n)
	}
	if more := len(layers) - shown; more > 0 {
		fmt.Fprintf(b, "- new commits in %s\n", text.Count(more, "more layer"))
	}
}

// CommitsText returns the commits that an input has since an older one in Markdown, as the pull
// request of an output has them.
func CommitsText(input source.Commit, before string, c Commits) string {
	var b strings.Builder
	writeChangelog(&b, []layerCommits{{input, before, c}}, bodyLengths[0].commits)
	return b.String()
}

func (l layerCommits) write(b *strings.Builder, n int) {
	at := func(commit string) string {
		c := l.input
		c.Commit = commit
		return commitLink(c)
	}
	layer := codeText(l.input.Layer)
	switch {
	case l.before == "":
		fmt.Fprintf(b, "- %s is new, at %s\n", layer, at(l.input.Commit))
	case l.Back:
		fmt.Fprintf(b, "- %s goes **back** from %s to %s, and loses:\n", layer, at(l.before), at(l.input.Commit))
	case len(l.All) == 0:
		fmt.Fprintf(b, "- %s moves from %s to %s\n", layer, at(l.before), at(l.input.Commit))
	default:
		fmt.Fprintf(b, "- %s:\n", layer)
	}
	for _, c := range l.All[:min(n, len(l.All))] {
		fmt.Fprintf(b, "  - %s %s (%s)\n", at(c.ID), prose(c.Subject()), prose(c.Author.Name))
	}
	switch more := len(l.All) - n; {
	case l.More:
		b.WriteString("  - and older ones\n")
	case more > 0:
		fmt.Fprintf(b, "  - and %d more\n", more)
	}
}

// maxProse bounds a text from outside that is shown among others, in bytes.
const maxProse = 100

// reference matches what forges make a link of though no character of it is special.
var reference = regexp.MustCompile(`(?i)\b(gh-|www\.)`)

// prose returns a text from outside as a part of a sentence.
func prose(s string) string {
	s = forge.EscapeMarkdown(text.Shorten(text.OneLine(strings.Map(replaceUnprintable, s)), maxProse))
	return reference.ReplaceAllString(s, "$1\u200b")
}
