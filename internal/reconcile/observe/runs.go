package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// dispatchTimeout is how long a workflow may take to appear before it is dispatched again.
const dispatchTimeout = 2 * time.Minute

// maxContextLength is in bytes; all forges accept it.
const maxContextLength = 100

// maxText is in characters; all forges accept it.
const maxText = 140

// WorkflowRunner runs workflows in a control plane. It records each step in a status of the base
// commit first, so that any process can continue.
type WorkflowRunner struct {
	// Dispatcher is nil if the forge runs no workflows.
	Dispatcher forge.Dispatcher
	SetStatus  func(ctx context.Context, commit string, s forge.Status) error
	// Statuses reads the statuses of a commit; nil if the forge has none.
	Statuses func(ctx context.Context, commit string) ([]forge.CommitStatus, error)
	// Branch is the default branch of workflows.
	Branch string
}

// Advance takes the next step of a need of kind [gate.Dispatch]. said has the current statuses of
// the base commit. An Answer without Outcome means that the workflow could not be started.
func (r WorkflowRunner) Advance(ctx context.Context, commit string, need gate.Need, said []forge.CommitStatus, now time.Time) gate.Answer {
	s := workflowStep{runner: r, commit: commit, need: need, context: RunContext(need), now: now}
	s.workflow = forge.Workflow{Name: need.Workflow, Ref: cmp.Or(need.Ref, r.Branch), Inputs: need.Inputs}
	i := slices.IndexFunc(said, func(st forge.CommitStatus) bool { return st.Context == s.context })
	switch {
	case i >= 0 && said[i].Outcome != forge.Pending:
		return s.answerOf(said[i])
	case r.Dispatcher == nil:
		return gate.Answer{Time: now, Reason: "the forge of the control plane runs no workflows"}
	case i < 0:
		return s.startWorkflow(ctx, 1, forge.CommitStatus{})
	}
	return s.followRun(ctx, said[i], slices.Delete(slices.Clone(said), i, i+1))
}

var unfitCharacters = regexp.MustCompile(`[^A-Za-z0-9._/-]+`)

// RunContext returns the status context of a run: the need's key, with a digest if changed.
func RunContext(need gate.Need) string {
	key := "fairlead/" + strings.ReplaceAll(need.Key, " ", "/")
	name := unfitCharacters.ReplaceAllString(key, "-")
	if name == key && len(name) <= maxContextLength {
		return name
	}
	digest := fmt.Sprintf("-%x", sha256.Sum256([]byte(need.Key)))[:9]
	return name[:min(len(name), maxContextLength-len(digest))] + digest
}

type workflowStep struct {
	runner   WorkflowRunner
	commit   string
	need     gate.Need
	context  string
	workflow forge.Workflow
	now      time.Time
}

func (s workflowStep) answerOf(said forge.CommitStatus) gate.Answer {
	a := gate.Answer{Time: said.Time, Outcome: said.Outcome, URL: said.URL}
	if said.Outcome == forge.Failure {
		reason, _ := strings.CutPrefix(said.Description, s.failureText())
		a.Reason = strings.TrimPrefix(reason, ": ")
	}
	return a
}

func (s workflowStep) failureText() string { return s.workflow.Name + " failed" }

const notStarted = "Not started: "

// startWorkflow records and starts the nth attempt. The status must be unchanged before, and ours
// afterwards, because another daemon may do the same. Forges have no compare-and-swap, so two
// simultaneous daemons may both start it.
func (s workflowStep) startWorkflow(ctx context.Context, n int, before forge.CommitStatus) gate.Answer {
	text := "Dispatched " + s.workflow.Name
	if n > 1 {
		text += fmt.Sprintf(" (%d)", n)
	}
	claim := sha256.Sum256(fmt.Appendf(nil, "%s %d", s.context, s.now.UnixNano())) // unique to this daemon and time
	text = forge.OneLine(text, maxText-20) + fmt.Sprintf(", claim %.4x", claim)
	if other, err := s.hasOtherStatus(ctx, before.Description); err != nil || other {
		return s.leaveToOther(err)
	}
	if err := s.writeStatus(ctx, forge.Pending, text, ""); err != nil {
		return gate.Answer{Time: s.now, Reason: "it could not be written on the commit: " + err.Error()}
	}
	if other, err := s.hasOtherStatus(ctx, before.Description, text); err != nil || other {
		return s.leaveToOther(err)
	}
	if err := s.runner.Dispatcher.DispatchWorkflow(ctx, s.workflow); err != nil {
		reason := cleanMessage(err.Error())
		// If this fails, the run is searched as if it had started.
		_ = s.writeStatus(ctx, forge.Pending, fmt.Sprintf("%s(%d) %s", notStarted, n, reason), "")
		return gate.Answer{Time: s.now, Reason: reason}
	}
	return gate.Answer{Time: s.now, Outcome: forge.Pending}
}

// hasOtherStatus reports whether another daemon started the run, or it has ended. The forge may not
// show it yet.
func (s workflowStep) hasOtherStatus(ctx context.Context, known ...string) (bool, error) {
	if s.runner.Statuses == nil {
		return false, nil
	}
	said, err := s.runner.Statuses(ctx, s.commit)
	return slices.ContainsFunc(said, func(st forge.CommitStatus) bool {
		return st.Context == s.context && !slices.Contains(known, st.Description)
	}), err
}

func (s workflowStep) leaveToOther(err error) gate.Answer {
	a := gate.Answer{Time: s.now, Outcome: forge.Pending}
	if err != nil {
		a.Reason = "what is said of the commit cannot be read: " + cleanMessage(err.Error())
	}
	return a
}

func (s workflowStep) followRun(ctx context.Context, said forge.CommitStatus, others []forge.CommitStatus) gate.Answer {
	pending := gate.Answer{Time: said.Time, Outcome: forge.Pending, URL: said.URL}
	runs, err := s.runner.Dispatcher.WorkflowRuns(ctx, s.workflow, s.searchSince(said))
	if err != nil {
		pending.Reason = "its run cannot be looked for: " + cleanMessage(err.Error())
		return pending
	}
	run, ok := s.pickRun(runs, said, others)
	n, failed := parseAttempt(said.Description)
	switch {
	case ok:
		return s.recordRun(ctx, said, run)
	case said.URL != "":
		pending.Reason = "its run is no longer there"
		return pending
	case !said.Time.IsZero() && !s.now.Before(said.Time.Add(dispatchTimeout)):
		return s.startWorkflow(ctx, n+1, said)
	case failed != "":
		return gate.Answer{Time: said.Time, Reason: failed}
	default:
		pending.Reason = "its run has not appeared yet"
		return pending
	}
}

// searchSince returns the earliest possible start of the run. Its URL may be recorded after the
// start, and an earlier or failed dispatch may have started one.
func (s workflowStep) searchSince(said forge.CommitStatus) time.Time {
	n, failed := parseAttempt(said.Description)
	switch {
	case said.Time.IsZero():
		return said.Time
	case said.URL != "":
		return said.Time.Add(-24 * time.Hour)
	case n > 1 || failed != "":
		return said.Time.Add(-dispatchTimeout)
	default:
		return said.Time
	}
}

var attemptPattern = regexp.MustCompile(`\((\d+)\)`)

func parseAttempt(description string) (n int, failed string) {
	n = 1
	if m := attemptPattern.FindStringSubmatch(description); m != nil {
		n, _ = strconv.Atoi(m[1]) // digits only; too many give the largest number
	}
	if rest, ok := strings.CutPrefix(description, notStarted); ok {
		_, failed, _ = strings.Cut(rest, " ")
	}
	return n, failed
}

// pickRun returns the recorded run, else the one with the best title, else the oldest. It skips
// runs of other statuses.
func (s workflowStep) pickRun(runs []forge.Run, said forge.CommitStatus, others []forge.CommitStatus) (forge.Run, bool) {
	left := slices.DeleteFunc(slices.Clone(runs), func(run forge.Run) bool {
		if said.URL != "" {
			return run.URL != said.URL
		}
		return slices.ContainsFunc(others, func(o forge.CommitStatus) bool { return run.URL != "" && o.URL == run.URL })
	})
	if len(left) == 0 {
		return forge.Run{}, false
	}
	return slices.MinFunc(left, func(a, b forge.Run) int {
		return cmp.Or(cmp.Compare(s.titleLikeness(b), s.titleLikeness(a)), a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	}), true
}

func (s workflowStep) titleLikeness(run forge.Run) int {
	like := 0
	if strings.Contains(run.Title, s.commit[:min(7, len(s.commit))]) {
		like += 2
	}
	if name := s.need.Inputs["environment"]; name != "" && strings.Contains(run.Title, name) {
		like++
	}
	return like
}

// recordRun records the state of a run. Its end counts once it is recorded.
func (s workflowStep) recordRun(ctx context.Context, said forge.CommitStatus, run forge.Run) gate.Answer {
	pending := gate.Answer{Time: said.Time, Outcome: forge.Pending, URL: run.URL}
	text := "Running " + s.workflow.Name
	switch run.Outcome {
	case forge.Success:
		text = s.workflow.Name + " succeeded"
	case forge.Failure:
		text = s.failureText()
		if run.Reason != "" {
			text += ": " + run.Reason
		}
	}
	if run.Outcome != said.Outcome || run.URL != said.URL {
		if err := s.writeStatus(ctx, run.Outcome, text, run.URL); err != nil {
			pending.Reason = "how it fares could not be written on the commit: " + err.Error()
			return pending
		}
	}
	if run.Outcome == forge.Pending {
		return pending
	}
	return s.answerOf(forge.CommitStatus{Outcome: run.Outcome, Description: text, URL: run.URL, Time: said.Time})
}

func (s workflowStep) writeStatus(ctx context.Context, o forge.Outcome, text, url string) error {
	return s.runner.SetStatus(ctx, s.commit, forge.Status{Context: s.context, Outcome: o, Description: forge.OneLine(text, maxText), URL: url})
}
