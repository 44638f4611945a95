package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/impact"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// The trailers of our commits: where the output came from.
const (
	trailerEnvironment  = "Fairlead-Environment"
	trailerBase         = "Fairlead-Base"
	trailerControlPlane = "Fairlead-Control-Plane"
	trailerWorkload     = "Fairlead-Workload"
	trailerDigest       = "Fairlead-Digest"
)

// baseLayer is the layer of the base in the commits of an input.
const baseLayer = "base"

// message gives the text of the commit.
func message(p Proposal, title, digest string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", title)
	trailer := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	trailer(trailerEnvironment, p.Environment)
	for _, c := range p.Inputs {
		switch {
		case c.Commit == "":
		case c.Layer == baseLayer:
			trailer(trailerBase, c.Commit)
		case c.Layer == p.Environment:
			trailer(trailerControlPlane, c.Commit)
		default:
			trailer(trailerWorkload, c.Layer+"@"+c.Commit)
		}
	}
	trailer(trailerDigest, digest)
	return b.String()
}

// Trailers reads the trailers of a commit's message: the lines "Key: value" of its
// last paragraph.
func Trailers(message string) map[string][]string {
	found := map[string][]string{}
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			found[key] = append(found[key], value)
		}
	}
	return found
}

// digestOf names what an environment's folder holds. It is in the commit, so that an
// edit is noticed, and in the pull request, so that one that was closed is not opened
// again for the same content.
func digestOf(environment, folder string, held tree.Tree) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", environment, cleanFolder(folder), bare(held).ID()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// commitTime is that of the newest input.
func commitTime(inputs []source.Commit) time.Time {
	var newest time.Time
	for _, c := range inputs {
		if c.When.After(newest) {
			newest = c.When
		}
	}
	if newest.IsZero() { // all inputs are folders
		return time.Unix(0, 0).UTC()
	}
	return newest
}

// maxBody is the length that all forges allow the body of a pull request, in bytes.
const maxBody = 60_000

// body gives the text of the pull request.
func (w *work) body() string {
	var tail strings.Builder
	w.adopted(&tail)
	inputTable(&tail, w.p.Inputs)
	problemList(&tail, w.p.Problems)
	reproduce(&tail, w.p)
	fmt.Fprintf(&tail, "\n%s\n", digestMark(w.content()))
	var b strings.Builder
	b.WriteString(strings.TrimSpace(w.report.Markdown(maxBody - tail.Len() - b.Len())))
	b.WriteString("\n")
	return b.String() + tail.String()
}

func digestMark(digest string) string { return "<!-- fairlead-digest: " + digest + " -->" }

// adopted says which files are taken over from somebody else.
func (w *work) adopted(b *strings.Builder) {
	a := w.next.adoption
	switch {
	case a.Kalypso:
		b.WriteString("\nThis branch was written by Kalypso's scheduler, and Fairlead takes it over. As with Kalypso, all folders are generated, but those that begin with a dot.\n")
	case len(a.Folders) > 0:
		fmt.Fprintf(b, "\nThese folders were there before, and are replaced as a whole: %s.\n", codes(a.Folders))
	}
}

// maxNames bounds lists in the text of a pull request.
const maxNames = 20

func codes(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), maxNames)] {
		shown = append(shown, forge.Code(name))
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}

func inputTable(b *strings.Builder, inputs []source.Commit) {
	b.WriteString("\n### Rendered from\n\n| layer | repository | commit |\n|---|---|---|\n")
	for i, c := range inputs {
		if i == maxInputs {
			fmt.Fprintf(b, "| … | %d more | |\n", len(inputs)-i)
			break
		}
		place, commit := c.Repo, short(c.Commit)
		if place == "" {
			place = c.Folder
		}
		if strings.HasPrefix(c.Repo, "https://") && c.Commit != "" {
			commit = fmt.Sprintf("[%s](%s/commit/%s)", commit, strings.TrimSuffix(c.Repo, ".git"), c.Commit)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", forge.Escape(c.Layer), forge.Code(place), commit)
	}
}

const (
	maxInputs   = 100 // in the table of a pull request
	maxProblems = 50
)

func short(commit string) string { return commit[:min(len(commit), 12)] }

func problemList(b *strings.Builder, problems problem.List) {
	if len(problems) == 0 {
		return
	}
	b.WriteString("\n### Warnings\n\n")
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(b, "- %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", forge.Escape(p.String()))
	}
}

// reproduce says how to make the same files by hand.
func reproduce(b *strings.Builder, p Proposal) {
	command := "fairlead render -e " + quote(p.Environment)
	for _, c := range p.Inputs {
		switch {
		case c.Commit == "":
		case c.Layer == baseLayer:
			command += fmt.Sprintf(" \\\n  --control-plane %s --base %s", quote(c.Repo), c.Commit)
		case c.Layer == p.Environment:
			command += " \\\n  --environment-revision " + c.Commit
		}
	}
	fmt.Fprintf(b, "\n### Reproduce\n\n```sh\n%s -o out\n```\n", command)
}

// quote makes text one word for a shell.
func quote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=") == "" && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// titleOf gives the title of the pull request and the commit.
func titleOf(environment string, r impact.Report) string {
	return forge.Title(environment + ": " + r.Summary())
}
