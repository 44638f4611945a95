package forge

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// StatusReader is a forge that reads the statuses of a commit, of any author.
type StatusReader interface {
	// Statuses returns the latest status of a commit in each context, sorted by
	// context: also those that others have set, and check runs where the forge has
	// them.
	Statuses(ctx context.Context, commit string) ([]CommitStatus, error)
}

// CommitStatus is a status that was set on a commit, as gates evaluate it.
type CommitStatus = gate.CommitStatus

// ApprovalReader is a forge on which people approve pull requests.
type ApprovalReader interface {
	// Approvals returns the approvals of a pull request at its head, sorted by login. An
	// approval that was followed by a request for changes is none. Refused tells why one
	// does not count.
	Approvals(ctx context.Context, number int) ([]Approval, error)
	// TeamMembers returns the logins of a team ("org/team"), sorted. The error is
	// ErrNotFound if there is no such team, or we may not see it.
	TeamMembers(ctx context.Context, team string) ([]string, error)
	// CommitAuthor returns the login of who wrote a commit; "" if the forge does not know.
	CommitAuthor(ctx context.Context, commit string) (string, error)
	// MergeBlockers returns what a pull request lacks to be merged, a sentence each; nil if it
	// lacks nothing.
	MergeBlockers(ctx context.Context, number int) ([]string, error)
}

// Approval is a person's approval, as gates evaluate it: of a forge, its approver is a
// login, and Refused is why it does not count.
type Approval = gate.Approval

// Why an approval does not count.
const (
	RefusedOlder     = "is of an older commit"
	RefusedDismissed = "was dismissed"
	RefusedNoAccess  = "does not count: no write access"
)

// Dispatcher is a forge that runs workflows.
type Dispatcher interface {
	// DispatchWorkflow starts a workflow.
	DispatchWorkflow(ctx context.Context, w Workflow) error
	// WorkflowRuns returns the runs of a workflow at its ref that were dispatched at a time or
	// later, newest first.
	WorkflowRuns(ctx context.Context, w Workflow, since time.Time) ([]Run, error)
}

// Workflow is what is to be run: a file in .github/workflows, or on GitLab a pipeline
// of the ref, to which Name is the variable FAIRLEAD_WORKFLOW.
type Workflow struct {
	Name   string            // of the file, as in "smoke.yaml"
	Ref    string            // a branch or tag
	Inputs map[string]string // that the workflow declares
}

// Run is one run of a workflow.
type Run struct {
	ID      string
	Title   string // as the forge shows it
	Outcome Outcome
	Reason  string // one word of the forge for how it ended; "" while it runs
	Started time.Time
	URL     string
}

// Annotator is a forge that shows what is wrong at the lines of a change.
type Annotator interface {
	// AnnotateChange makes notes the only annotations of ours with this mark on a change.
	// Those that are there already stay. It returns those that the forge cannot show at
	// their line.
	AnnotateChange(ctx context.Context, c Change, mark string, notes []Annotation) (left []Annotation, err error)
}

// Annotation is a remark at a line of a file.
type Annotation struct {
	File    string
	Line    int // from 1
	Warning bool
	Text    string // plain: a forge that shows Markdown escapes it
}

// Committer is a forge that makes commits itself, and signs them, so that branches
// which require signatures take them.
type Committer interface {
	// CreateCommit makes a commit, and has a branch be at it. The error is ErrMoved if the
	// branch was not at c.Old. The commit's author is the forge's name for us.
	CreateCommit(ctx context.Context, c Commit) (id string, err error)
}

// Commit is what a [Committer] makes.
type Commit struct {
	Branch  string
	Old     string // that the branch is at now; "" if it is not there
	Parent  string
	Message string
	Before  tree.Tree // of the parent
	Tree    tree.Tree
}
