package forge

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// StatusReader is a forge that reads the statuses of a commit.
type StatusReader interface {
	// Statuses returns the latest status of a commit in each context, from any author and from
	// check runs, sorted by context.
	Statuses(ctx context.Context, commit string) ([]CommitStatus, error)
}

// CommitStatus is a commit's status, as gates evaluate it.
type CommitStatus = gate.CommitStatus

// ApprovalReader is a forge on which people approve pull requests.
type ApprovalReader interface {
	// Approvals returns the approvals of a pull request, sorted by login. A later request for
	// changes withdraws one. Refused says why one does not count.
	Approvals(ctx context.Context, number int) ([]Approval, error)
	// TeamMembers returns the sorted logins of a team ("org/team"). The error is ErrNotFound if it
	// is missing or invisible.
	TeamMembers(ctx context.Context, team string) ([]string, error)
	// CommitAuthor returns the login of a commit's author, or "" if unknown.
	CommitAuthor(ctx context.Context, commit string) (string, error)
	// MergeBlockers returns what a pull request lacks to be merged, as sentences; nil for nothing.
	MergeBlockers(ctx context.Context, number int) ([]string, error)
}

// Approval is a person's approval, as gates evaluate it. Approver is a login.
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
	// WorkflowRuns returns the workflow's dispatched runs at its ref since a time, newest first.
	WorkflowRuns(ctx context.Context, w Workflow, since time.Time) ([]Run, error)
}

// Workflow is a file in .github/workflows, or a GitLab pipeline that gets Name in
// FAIRLEAD_WORKFLOW.
type Workflow struct {
	Name   string
	Ref    string
	Inputs map[string]string
}

// Run is one run of a workflow.
type Run struct {
	ID      string
	Title   string
	Outcome Outcome
	Reason  string // the forge's word for how it ended; "" while it runs
	Started time.Time
	URL     string
}

// Annotator is a forge that shows annotations at lines of a change.
type Annotator interface {
	// AnnotateChange makes notes our only annotations with this mark. It returns those that the
	// forge cannot show at their lines.
	AnnotateChange(ctx context.Context, c Change, mark string, notes []Annotation) (left []Annotation, err error)
}

// Annotation is a remark at a line of a file.
type Annotation struct {
	File    string
	Line    int // from 1
	Warning bool
	Text    string // plain text, which a forge with Markdown escapes
}

// Committer is a forge that makes and signs commits, for branches that require signatures.
type Committer interface {
	// CreateCommit makes a commit and moves the branch to it. The error is ErrMoved if the branch
	// was not at c.Old. The author is the forge's account for us.
	CreateCommit(ctx context.Context, c Commit) (id string, err error)
}

// Commit is the input of a [Committer].
type Commit struct {
	Branch  string
	Old     string // current commit of the branch; "" if it does not exist
	Parent  string
	Message string
	Before  tree.Tree // the parent's tree
	Tree    tree.Tree
}
