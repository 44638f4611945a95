package plaintext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatStage returns why an environment has its commit, and what it waits for.
func FormatStage(s status.Stage, now time.Time, to *display.Stream) string {
	var b strings.Builder
	b.WriteString(s.Environment)
	if len(s.After) > 0 {
		b.WriteString(", which comes after " + text.Join(s.After, " and "))
	}
	b.WriteString("\n\n")
	if s.Commit == "" {
		b.WriteString("It has no commit yet.\n")
	} else {
		format := "It has %s%s"
		switch {
		case s.HasProblems():
			format = "It is promoted to %s%s, which has problems"
		case !s.Merged:
			format = "It is promoted to %s%s, and its newest output is not merged yet"
		}
		fmt.Fprintf(&b, format, text.ShortCommit(s.Commit), sinceText(s.Since, now))
		switch {
		case s.Next.State == promote.Stopped:
		case s.Behind == 0:
			b.WriteString("; it is the newest commit of the base")
		default:
			fmt.Fprintf(&b, "; the base has had %s since", text.Count(s.Behind, "commit"))
		}
		b.WriteString(".\n")
		hasGate := func(name string) bool {
			return slices.ContainsFunc(s.Proof.Parts, func(v gate.Verdict) bool { return v.Gate == name })
		}
		switch {
		case s.Deployed.IsZero() || s.HasProblems():
		case hasGate("rollout"):
			fmt.Fprintf(&b, "The clusters run it%s.\n", sinceText(s.Deployed, now))
		case hasGate("merged"): // without reports of clusters no more is known
			fmt.Fprintf(&b, "It is merged%s.\n", sinceText(s.Deployed, now))
		}
	}
	writeWithheld(&b, s)
	fmt.Fprintf(&b, "Next: %s\n", display.SanitizeLine(s.NextAction()))
	if s.Next.State == promote.Stopped {
		return b.String()
	}
	if len(s.Waves) > 0 {
		b.WriteString("\n" + formatWaves(s))
	}
	if s.Commit != "" {
		fmt.Fprintf(&b, "\nVerification of %s:\n", text.ShortCommit(s.Commit))
		writeVerdict(&b, s.Proof, 1, now, to)
	}
	isReason := s.Next.Candidate == "" && s.Next.Verdict.Status == gate.Pass && len(s.Next.Verdict.Parts) == 0 // nothing passes
	switch {
	case isReason:
		fmt.Fprintf(&b, "\nWhat comes next: %s\n", display.SanitizeLine(s.Next.Verdict.Reason))
	case s.Next.Candidate == "":
		b.WriteString("\nWhat comes next:\n")
	case s.Next.State == promote.Promotes:
		fmt.Fprintf(&b, "\nIt gets %s now.\n", text.ShortCommit(s.Next.Candidate))
	default:
		fmt.Fprintf(&b, "\nWhat %s is waiting for:\n", text.ShortCommit(s.Next.Candidate))
	}
	if !isReason {
		writeVerdict(&b, s.Next.Verdict, 1, now, to)
	}
	if n := len(s.Next.Skipped); n > 0 {
		var skipped []string
		for _, commit := range s.Next.Skipped {
			skipped = append(skipped, text.ShortCommit(commit))
		}
		fmt.Fprintf(&b, "  Between the two, %s left out: %s.\n", map[bool]string{true: "one is", false: fmt.Sprintf("%d are", n)}[n == 1], text.Join(skipped, " and "))
	}
	if at := gate.EarlierTime(s.Proof.NextChange(), s.Next.Verdict.NextChange()); at.After(now) {
		fmt.Fprintf(&b, "\nNext check: %s, in %s.\n", display.FormatMoment(at), display.FormatAge(at.Sub(now)))
	}
	return b.String()
}

func sinceText(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s, for %s", display.FormatMoment(t), display.FormatAge(now.Sub(t)))
}

func writeVerdict(b *strings.Builder, v gate.Verdict, depth int, now time.Time, to *display.Stream) {
	colours := map[gate.Status]string{gate.Pass: display.Dim, gate.Wait: display.Yellow, gate.Fail: display.Red}
	words := map[gate.Status]string{gate.Pass: "yes ", gate.Wait: "wait", gate.Fail: "no  "}
	word, ok := words[v.Status]
	if !ok {
		word = "?   "
	}
	fmt.Fprintf(b, "%s%s  %s", strings.Repeat("  ", depth), to.Paint(colours[v.Status], word), display.SanitizeLine(v.Gate))
	if isRepeated(v) {
		b.WriteByte('\n')
		for _, part := range v.Parts {
			writeVerdict(b, part, depth+1, now, to)
		}
		return
	}
	fmt.Fprintf(b, ": %s", display.SanitizeLine(v.Reason))
	if more := display.FormatAge(v.ValidUntil.Sub(now)) + " more"; v.ValidUntil.After(now) {
		if !v.NamesTime {
			more = "until " + display.FormatMoment(v.ValidUntil) + ", " + more
		}
		fmt.Fprintf(b, " (%s)", more)
	}
	b.WriteByte('\n')
	for _, part := range v.Parts {
		if repeatsFailure(v, part) {
			continue
		}
		writeVerdict(b, part, depth+1, now, to)
	}
}

func isRepeated(v gate.Verdict) bool {
	var waiting []string
	for _, part := range v.Parts {
		if part.Status == gate.Wait {
			waiting = append(waiting, part.Reason)
		}
	}
	return v.Status == gate.Wait && len(waiting) > 0 && (slices.Contains(waiting, v.Reason) || v.Reason == strings.Join(waiting, "; "))
}

// repeatsFailure reports whether a part, with all its parts, only repeats the failure at the end of
// the verdict's reason, which includes a failure in a previous environment.
func repeatsFailure(above, part gate.Verdict) bool {
	return part.Status == gate.Fail && part.Reason != "" && (part.Reason == above.Reason || above.Kind == gate.KindAfter && isFirstFailure(above, part)) &&
		!slices.ContainsFunc(part.Parts, func(p gate.Verdict) bool { return !repeatsFailure(part, p) })
}

func isFirstFailure(of, part gate.Verdict) bool {
	i := slices.IndexFunc(of.Parts, func(p gate.Verdict) bool { return p.Status == gate.Fail })
	return i >= 0 && of.Parts[i].Gate == part.Gate && of.Parts[i].Reason == part.Reason
}

// isPullNext reports whether the open pull request is the next action, which then says why only a
// person may merge it.
func isPullNext(s status.Stage) bool {
	switch s.KnownState() {
	case status.StageProblems, status.StageFailed, status.StageStopped, status.StageDeclined, status.StageEdited, status.StageForeign:
		return false
	default:
		return s.Pull != nil && s.Next.State != promote.Stopped && s.Next.State != promote.Promotes
	}
}

func writeWithheld(b *strings.Builder, s status.Stage) {
	change := ""
	isNext := isPullNext(s)
	for _, w := range s.Withheld {
		if w.Acknowledge != "" && isNext { // the next line says it
			continue
		}
		fmt.Fprintf(b, "Only a person may merge its output: %s.\n", display.SanitizeLine(w.Reason))
		change = max(change, w.Acknowledge)
	}
	if change != "" && s.KnownState() != status.StageDeclined {
		fmt.Fprintf(b, "To acknowledge exactly this change, merge its pull request, or run:\n  fairlead approve %s %s --removals\n", s.Environment, change)
	}
}
