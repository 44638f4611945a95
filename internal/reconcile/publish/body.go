package publish

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Limits of a pull request's body, in bytes. All forges allow 65,536; a notice and text that the
// forge appends need the rest.
const (
	maxBody = 60_000
	maxTail = 30_000 // everything except the report
	maxText = 500
)

// listLengths limits the lines of lists, and the bytes of the plans for clusters.
type listLengths struct{ commits, folders, inputs, problems, followed, stacks, clusters int }

// bodyLengths is tried in order; the last always fits.
var bodyLengths = []listLengths{{20, 20, 100, 50, 20, 5, 20_000}, {10, 20, 40, 10, 5, 2, 10_000}, {3, 5, 10, 5, 1, 1, 2_000}, {}}

// pullBody returns the text of the pull request. The mark is its last line.
func (w *attempt) pullBody() string {
	var followed []model.Followed
	if w.p.Followed != nil {
		followed = w.p.Followed()
	}
	var top, tail strings.Builder
	for _, n := range bodyLengths {
		top.Reset()
		tail.Reset()
		w.writeMeaning(&top)
		writeWave(&top, w.p.Step, n.folders)
		top.WriteString(w.report.StacksMarkdown(n.stacks))
		if w.p.Costs != nil && n.stacks > 0 {
			top.WriteString(w.p.Costs(w.next.before, w.p.Rendered))
		}
		top.WriteString(w.report.ClustersMarkdown(n.clusters))
		writeChangelog(&top, w.changelog, n.commits)
		writeAdoption(&tail, w.next.adoption, n.folders)
		w.writeWaiting(&tail)
		writeStopped(&tail, w.p.Problems, n.problems)
		writeProblems(&tail, w.p.Problems, n.problems)
		writeFollowed(&tail, followed, n.followed)
		writeReproduction(&tail, w.p, n.inputs)
		fmt.Fprintf(&tail, "\n%s%s%s\n", markBegin, contentDigest(w.p), markEnd)
		if top.Len()+tail.Len() <= maxTail {
			break
		}
	}
	if !w.report.IsEmpty() {
		const heading = "\n### Changes\n\n"
		top.WriteString(heading + strings.TrimSpace(w.report.GroupsMarkdown(maxBody-tail.Len()-top.Len()-len(heading))) + "\n")
	}
	return top.String() + tail.String()
}

func (w *attempt) writeMeaning(b *strings.Builder) {
	moves := w.moveSummary()
	if moves != "" {
		fmt.Fprintf(b, "- **Moves:** %s\n", forge.EscapeMarkdown(moves))
	}
	if moves == "" || !w.report.IsEmpty() {
		b.WriteString(w.report.Meaning())
	}
}

// The mark is a comment with the digest of the proposed content.
const markBegin, markEnd = "<!-- fairlead-digest: ", " -->"

// cutMark splits a body at its mark. Text from outside may contain marks, but not at the start of a
// line.
func cutMark(body string) (digest, rest string) {
	i := strings.LastIndex(body, "\n"+markBegin)
	if i < 0 {
		return "", body
	}
	digest, _, _ = strings.Cut(body[i+1+len(markBegin):], markEnd)
	return digest, body[:i]
}

const noticeBegin, noticeEnd = "> [!WARNING]\n> Fairlead does not update this pull request: ", ".\n\n"

func withNotice(body, reason string) string {
	if old, ok := strings.CutPrefix(body, noticeBegin); ok {
		_, body, _ = strings.Cut(old, noticeEnd)
	}
	return noticeBegin + reason + noticeEnd + body
}

func writeAdoption(b *strings.Builder, a Adoption, n int) {
	switch {
	case a.Kalypso:
		b.WriteString("\nThis branch was written by Kalypso's scheduler, and Fairlead takes it over. As with Kalypso, all folders are generated, but those that begin with a dot.\n")
	case len(a.Folders) > 0:
		fmt.Fprintf(b, "\nThese folders were there before, and are replaced as a whole: %s.\n", listNames(a.Folders, n))
	}
}

func listNames(all []string, n int) string {
	var names []string
	for _, name := range all[:min(len(all), n)] {
		names = append(names, codeText(name))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func writeInputs(b *strings.Builder, inputs []source.Commit, n int) {
	b.WriteString("| layer | repository | commit |\n|---|---|---|\n")
	for _, c := range inputs[:min(len(inputs), n)] {
		place := c.Repo
		if place == "" {
			place = c.Folder
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", codeCell(c.Layer), codeCell(place), commitLink(c))
		lanes := slices.Sorted(maps.Keys(c.Lanes))
		for _, name := range lanes[:min(len(lanes), n)] {
			of := source.Commit{Repo: c.Repo, Commit: c.Lanes[name]}
			fmt.Fprintf(b, "| %s, lane %s | %s | %s |\n", codeCell(c.Layer), codeCell(name), codeCell(place), commitLink(of))
		}
		if more := len(lanes) - n; more > 0 {
			fmt.Fprintf(b, "| | %d more lanes | |\n", more)
		}
	}
	if more := len(inputs) - n; more > 0 {
		fmt.Fprintf(b, "| | %d more | |\n", more)
	}
}

var (
	webPage  = regexp.MustCompile(`^https://[0-9A-Za-z.-]+(:[0-9]+)?(/[0-9A-Za-z._~-]+)+$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

func commitLink(c source.Commit) string {
	id := codeCell(c.Commit[:min(len(c.Commit), 12)])
	if !webPage.MatchString(c.Repo) || !commitID.MatchString(c.Commit) || len(c.Repo) > maxText {
		return id
	}
	return fmt.Sprintf("[%s](%s/commit/%s)", id, strings.TrimSuffix(c.Repo, ".git"), c.Commit)
}

func writeStopped(b *strings.Builder, problems problem.List, n int) {
	stopped := problems.StoppedStacks()
	if len(stopped) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**Stopped, and not part of this change:** %s. What the output has of it stays as it is.\n\n", text.Count(len(stopped), "stack"))
	writeItems(b, stopped, n, func(p problem.Problem) string { return codeText(p.Stack) + ": " + codeText(p.String()) })
}

func writeItems[T any](b *strings.Builder, all []T, n int, format func(T) string) {
	for _, one := range all[:min(len(all), n)] {
		fmt.Fprintf(b, "- %s\n", format(one))
	}
	if more := len(all) - n; more > 0 {
		fmt.Fprintf(b, "- %d more\n", more)
	}
}

func writeProblems(b *strings.Builder, problems problem.List, n int) {
	problems = slices.DeleteFunc(slices.Clone(problems), func(p problem.Problem) bool { return !p.Warning })
	if len(problems) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", text.Count(len(problems), "warning"))
	writeItems(b, problems, n, func(p problem.Problem) string { return codeText(p.String()) })
	b.WriteString("\n</details>\n")
}

func writeFollowed(b *strings.Builder, followed []model.Followed, n int) {
	if len(followed) == 0 {
		return
	}
	b.WriteString("\n<details><summary>Deployed without a pull request: what is pushed to these branches and ranges</summary>\n\n")
	writeItems(b, followed, n, func(f model.Followed) string {
		item := codeText(f.Subject) + ": " + codeText(f.What())
		if f.Repo != "" {
			item += " of " + codeText(giturl.Redact(f.Repo))
		}
		return item
	})
	registered := slices.DeleteFunc(slices.Clone(followed), func(f model.Followed) bool { return !f.IsRegistration })
	if len(registered) > 0 {
		fmt.Fprintf(b, "\n`fairlead versions adopt` has the versions of %s promoted: this environment keeps the commits that it has, and gets newer ones by promotion.\n", text.Count(len(registered), "registration"))
	}
	b.WriteString("\n`fairlead check -v` says what to write instead.\n\n</details>\n")
}

// codeText formats text from outside as code, where nothing is a link, a mention or HTML.
func codeText(code string) string {
	code = strings.TrimSpace(strings.Map(replaceUnprintable, code))
	if code == "" {
		return ""
	}
	return forge.CodeSpan(text.Shorten(code, maxText))
}

// codeCell escapes bars, which end table cells even in code.
func codeCell(code string) string { return strings.ReplaceAll(codeText(code), "|", `\|`) }

func replaceUnprintable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsPrint(r):
		return r
	}
	return '\ufffd'
}

func writeReproduction(b *strings.Builder, p Proposal, n int) {
	command, workloads := "fairlead render -e "+shellWord(p.Environment), false
	for _, c := range p.Inputs {
		switch {
		case c.Commit == "" || len(c.Repo) > maxText:
		case c.Layer == BaseLayer:
			command += fmt.Sprintf(" \\\n  --control-plane %s --base %s", shellWord(c.Repo), shellWord(c.Commit))
		case c.Layer == p.Environment:
			command += " \\\n  --environment-revision " + shellWord(c.Commit)
		default:
			workloads = true
		}
	}
	fmt.Fprintf(b, "\n<details><summary>Reproduce</summary>\n\n```sh\n%s \\\n  --out out\n```\n\n", command)
	if workloads {
		b.WriteString("The command reads the newest commits of the workloads; `--map` reads them elsewhere.\n\n")
	}
	b.WriteString("Rendered from:\n\n")
	writeInputs(b, p.Inputs, n)
	b.WriteString("\n</details>\n")
}

func shellWord(value string) string {
	return text.QuoteShell(strings.Map(replaceUnprintable, value))
}
