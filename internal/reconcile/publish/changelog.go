package publish

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Commits are the commits between two of a repository.
type Commits struct {
	All []git.CommitInfo // newest first
	// More reports that older ones are missing.
	More bool
	// Back reports that All are removed: the newer commit is an ancestor of the older.
	Back bool
}

const maxCommitsRead, maxCommits = 1000, 100

// ReadCommits ignores errors: the text of a pull request is not worth a failure.
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
		all = slices.DeleteFunc(all, isMerge) // their commits are listed
	}
	return Commits{All: all[:min(len(all), maxCommits)], More: len(all) > maxCommits}
}

type layerCommits struct {
	input  source.Commit
	before string // rendered before; "" for a new layer
	Commits
}

func (w *attempt) findCommits() error {
	if w.p.CommitsSince == nil {
		return nil
	}
	record, err := w.options.Records.ReadIn(w.whole.Tree.Sub(CleanFolder(w.p.Folder)))
	if err != nil || len(record.Environments) == 0 {
		return err
	}
	type layer struct{ name, repo string }
	before := map[layer]Input{}
	for _, written := range record.Environments {
		for _, in := range written.From {
			if written.Environment == w.p.Environment {
				before[layer{in.Layer, in.Repo}] = in
			}
		}
	}
	for _, in := range w.p.Inputs {
		was := before[layer{in.Layer, in.Repo}]
		if in.Commit != "" && in.Commit != was.Commit {
			w.addCommits(in, was.Commit)
		}
		w.addLaneCommits(in, was)
	}
	return nil
}

func (w *attempt) addCommits(in source.Commit, was string) {
	layer := layerCommits{input: in, before: was}
	if was != "" {
		layer.Commits = w.p.CommitsSince(in, was)
	}
	w.changelog = append(w.changelog, layer)
}

// addLaneCommits adds the new versions of lanes: of the commits in between, others may not be theirs.
func (w *attempt) addLaneCommits(in source.Commit, was Input) {
	for _, name := range slices.Sorted(maps.Keys(in.Lanes)) {
		version := in
		version.Layer, version.Commit, version.Lanes = "lane "+name, in.Lanes[name], nil
		old := cmp.Or(was.Lanes[name], was.Commit)
		if version.Commit == old {
			continue
		}
		layer := layerCommits{input: version, before: old}
		if old != "" {
			layer.Commits = w.p.CommitsSince(version, old)
			layer.All = slices.DeleteFunc(layer.All, func(c git.CommitInfo) bool { return !layer.Back && c.ID != version.Commit })
		}
		w.changelog = append(w.changelog, layer)
	}
}

const maxLayers = 20

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

// CommitsText returns the commits of an input since before in Markdown.
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
	if l.input.Release != "" && l.before != "" {
		layer += fmt.Sprintf(" (%s: %s -> %s)", codeText(l.input.Release), text.ShortCommit(l.before), text.ShortCommit(l.input.Commit))
	}
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

const maxProse = 100

// reference matches what forges link even without special characters.
var reference = regexp.MustCompile(`(?i)\b(gh-|www\.)`)

func prose(s string) string {
	s = forge.EscapeMarkdown(text.Shorten(text.OneLine(strings.Map(replaceUnprintable, s)), maxProse))
	return reference.ReplaceAllString(s, "$1\u200b")
}
