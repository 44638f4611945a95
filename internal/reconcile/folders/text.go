package folders

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Result is the result of a copy.
type Result struct {
	State publish.State // in-sync, proposed or declined
	Pull  forge.Pull    // zero if in sync
}

func (c Copy) locationsDigest() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		giturl.Normalize(c.From.Remote.URL()), c.From.Branch, c.From.Folder, c.To.Branch, c.To.Folder,
	}, "\x00")))
	return hex.EncodeToString(sum[:6])
}

func (c Copy) trailerLine() string { return "Fairlead-Copy: " + c.locationsDigest() }

// Propose opens or edits the pull request of the copy, or withdraws it if nothing changes.
func (c Copy) Propose(ctx context.Context, o publish.Options, reason string) (Result, error) {
	ours := c.branchName(o.Prefix)
	if c.IsEmpty() {
		return Result{State: publish.InSync}, publish.Withdraw(ctx, o, ours, c.To.Branch, c.trailerLine(), "There is nothing left to copy: the folder holds it.")
	}
	e := publish.Edit{
		Branch: c.To.Branch, Head: c.head, Folders: map[string]tree.Tree{c.To.Folder: c.After}, When: c.when,
		Message: fmt.Sprintf("%s\n\nFrom %s of %s, commit %s\n", c.pullTitle(), c.From, c.From.Remote.URL(), c.LastChange.ID),
	}
	if reason != "" { // on one line, so that it cannot be a trailer
		e.Message += fmt.Sprintf("\n%s\n", text.OneLine(reason))
	}
	e.Message += fmt.Sprintf("\n%s\n", c.trailerLine())
	p := forge.Proposal{Mark: "copy " + c.locationsDigest(), Head: ours, Base: c.To.Branch, Title: c.pullTitle(), Body: c.pullBody(reason)}
	pull, err := e.Propose(ctx, o, p)
	switch {
	case err != nil:
		return Result{}, err
	case pull.State == forge.Closed:
		return Result{publish.Declined, pull}, nil
	}
	return Result{publish.Proposed, pull}, nil
}

// Changes returns the sorted files that are added, changed and removed.
func (c Copy) Changes() (added, changed, removed []string) {
	for change := range tree.Diff(c.Before, c.After) {
		switch {
		case change.Added():
			added = append(added, change.Path)
		case change.Removed():
			removed = append(removed, change.Path)
		default:
			changed = append(changed, change.Path)
		}
	}
	return added, changed, removed
}

// Summary returns the number of differing files in one line.
func (c Copy) Summary() string {
	if c.IsEmpty() {
		return "no difference"
	}
	var parts []string
	for _, list := range c.changeLists() {
		if len(list.files) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", text.Count(len(list.files), "file"), list.word))
		}
	}
	return strings.Join(parts, ", ")
}

type changeList struct {
	sign, word string
	files      []string
}

func (c Copy) changeLists() []changeList {
	added, changed, removed := c.Changes()
	return []changeList{{"+", "added", added}, {"~", "changed", changed}, {"-", "removed", removed}}
}

// Text returns a report for a terminal, with a diff if lines is set. The caller must escape it.
func (c Copy) Text(lines bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s → %s: %s\n", c.From, c.To, c.Summary())
	for _, list := range c.changeLists() {
		for _, file := range list.files {
			fmt.Fprintf(&b, "  %s %s\n", list.sign, file)
		}
	}
	if c.Kept+c.Skipped > 0 {
		fmt.Fprintf(&b, "  left alone: %s of the target, %d of the source\n", text.Count(c.Kept, "file"), c.Skipped)
	}
	if lines {
		b.WriteString("\n")
		for piece := range impact.UnifiedDiff(c.Before, c.After, 3) {
			b.WriteString(piece)
		}
	}
	return b.String()
}

func (c Copy) pullTitle() string {
	return forge.FitTitle(fmt.Sprintf("Promote %s to %s: %s", cmp.Or(c.From.Folder, c.From.Branch), cmp.Or(c.To.Folder, c.To.Branch), c.Summary()))
}

const (
	maxListed = 50
	// maxLines limits the diff, in bytes; all forges allow more.
	maxLines = 40_000
)

// pullBody depends only on contents, to recognize a closed pull request.
func (c Copy) pullBody(reason string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merging this makes %s hold what %s holds since commit %s (%s).\n", c.To.describe(forge.CodeSpan), c.From.describe(forge.CodeSpan), forge.CodeSpan(c.LastChange.ID),
		forge.EscapeMarkdown(c.LastChange.Subject()))
	if reason != "" {
		fmt.Fprintf(&b, "\n> %s\n", forge.EscapeMarkdown(reason))
	}
	for _, list := range c.changeLists() {
		if len(list.files) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n**%s %s**\n\n", text.Count(len(list.files), "file"), list.word)
		for _, file := range list.files[:min(len(list.files), maxListed)] {
			fmt.Fprintf(&b, "- %s\n", forge.CodeSpan(file))
		}
		if more := len(list.files) - maxListed; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	if c.Kept+c.Skipped > 0 {
		fmt.Fprintf(&b, "\nLeft alone, since they belong to one cluster: %s of the target, %d of the source.\n", text.Count(c.Kept, "file"), c.Skipped)
	}
	c.writeDiff(&b)
	return b.String()
}

func (c Copy) writeDiff(b *strings.Builder) {
	var diff strings.Builder
	for piece := range impact.UnifiedDiff(c.Before, c.After, 3) {
		if diff.Len()+len(piece) > maxLines {
			diff.WriteString("… and more\n")
			break
		}
		diff.WriteString(piece)
	}
	shown := mention.ReplaceAllString(strings.ToValidUTF8(diff.String(), "�"), "@\u200b$1")
	fence := "```"
	for strings.Contains(shown, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n<details><summary>Line by line</summary>\n\n%sdiff\n%s%s\n\n</details>\n", fence, shown, fence)
}

// mention matches what some forges link even in code.
var mention = regexp.MustCompile(`@(\w)`)
