package actions

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// The actions, as trailers name them.
const (
	promoteAction   = "promote"
	holdAction      = history.HoldAction
	releaseAction   = "release"
	rollbackAction  = "rollback"
	approveAction   = "approve"
	freezeAction    = history.FreezeAction
	renewKeyAction  = "renew-key"
	retireAction    = "retire"
	adoptAction     = "adopt"
	connectAction   = "connect"
	cloneAction     = "clone-stack"
	tearDownAction  = "tear-down-stack"
	pinAction       = "pin-modules"
	createAction    = "create"
	setAction       = "set"
	deleteAction    = "delete"
	forgetAction    = "forget-decisions"
	rebalanceAction = "rebalance"
	cutAction       = "cut"
	pinVersion      = "pin"
	unpinVersion    = "unpin"
	skipVersion     = "skip"
	unskipVersion   = "unskip"
)

type change struct {
	action        string // "promote"
	environment   string // "" of a freeze
	name          string // of a freeze, a cluster, or an object
	part          string // of the environment, which a pull request of its own is about; "" for all of it
	title         string // the first line of the message
	summary       string
	reason        string            // what the person says
	shown         string            // a text of several lines that its pull request shows
	moves         []string          // of units, which the message lists
	commitSubject string            // of the commit of the base that it is about
	from, to      string            // commits of the base
	lane          string            // that it is about; "" for the whole environment
	base          lane.Composition  // that the environment gets; zero if it gets none
	workloads     map[string]string // commits of registrations that the environment gets; nil if it gets none
	notes         []string          // how to was chosen
	// forced is the reason for forcing it, and overridden the objections.
	forced     string
	overridden []string
	files      map[string][]byte // nil if there is nothing to do
	trailers   []string          // beside those of the action
	newBranch  *publish.Edit     // a branch that is made first; nil for none
}

const maxText = 1000

// maxShown is how many characters of a text a pull request shows: less than all forges take.
const maxShown = 50_000

func (c change) commitMessage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", forge.OneLine(c.title, maxText))
	for _, text := range []string{c.commitSubject, c.reason} {
		if text != "" {
			fmt.Fprintf(&b, "%s\n\n", forge.OneLine(text, maxText))
		}
	}
	for _, text := range c.moves {
		fmt.Fprintf(&b, "%s\n", forge.OneLine(text, maxText))
	}
	if c.moves != nil {
		b.WriteByte('\n')
	}
	for _, text := range c.overridden {
		fmt.Fprintf(&b, "Overrides: %s\n", forge.OneLine(text, maxText))
	}
	if c.overridden != nil {
		b.WriteByte('\n')
	}
	switch {
	case c.lane != "" && c.to != "":
		fmt.Fprintf(&b, "%s: %s@%s\n", publish.LaneTrailer, c.lane, c.to)
	case c.lane != "":
		fmt.Fprintf(&b, "%s: %s\n", publish.LaneTrailer, c.lane)
	}
	if c.action == promoteAction || c.action == rollbackAction {
		if c.base.Platform != "" {
			fmt.Fprintf(&b, "Fairlead-Promoted: %s\n", c.base.Platform)
		}
		fmt.Fprintf(&b, "Fairlead-Promotion: %s\n", c.environment)
	}
	if c.action == approveAction && c.to != "" {
		fmt.Fprintf(&b, "%s: %s\n", promoter.TrailerApproval, c.environment)
	}
	if (c.action == approveAction || c.action == freezeAction) && c.to != "" {
		fmt.Fprintf(&b, "%s: %s\n", history.CommitTrailer, c.to)
	}
	if c.forced != "" {
		fmt.Fprintf(&b, "Fairlead-Forced: %s\n", forge.OneLine(c.forced, maxText))
	}
	for _, line := range c.trailers {
		fmt.Fprintf(&b, "%s\n", forge.OneLine(line, maxText))
	}
	fmt.Fprintf(&b, "Fairlead-Action: %s\n", c.action)
	return b.String()
}

func (c change) subject() string {
	if c.lane != "" {
		return c.environment + "-" + stackfiles.FlatName(c.lane)
	}
	if c.part == "" {
		return cmp.Or(c.environment, c.name)
	}
	part := stackfiles.FlatName(c.part)
	if c.environment == "" {
		return part
	}
	return c.environment + "-" + part
}

func (c change) pullRequestBody() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", forge.EscapeMarkdown(c.title))
	if c.from != "" && c.to != "" {
		fmt.Fprintf(&b, "\nFrom %s to %s.\n", forge.CodeSpan(c.from), forge.CodeSpan(c.to))
	}
	for _, said := range []string{c.commitSubject, c.reason} {
		if said != "" {
			fmt.Fprintf(&b, "\n> %s\n", forge.EscapeMarkdown(forge.OneLine(said, maxText)))
		}
	}
	if c.shown != "" { // as code, in which Markdown is inert
		shown := text.Limit(strings.TrimRight(c.shown, "\n"), maxShown)
		fence := strings.Repeat("`", max(3, text.LongestBackticks(shown)+1))
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n", fence, shown, fence)
	}
	if c.forced != "" {
		fmt.Fprintf(&b, "\n**Forced**, because: %s\n\n", forge.EscapeMarkdown(forge.OneLine(c.forced, maxText)))
		for _, objection := range c.overridden {
			fmt.Fprintf(&b, "- overrides: %s\n", forge.EscapeMarkdown(objection))
		}
	}
	return b.String()
}

type holdSpec struct {
	Reason string `yaml:"reason"`
	Lane   string `yaml:"lane,omitempty"`
	Scope  string `yaml:"scope,omitempty"`
	Commit string `yaml:"commit,omitempty"`
}

type approvalSpec struct {
	Commit string `yaml:"commit"`
	Lane   string `yaml:"lane,omitempty"`
	Wave   string `yaml:"wave,omitempty"`
	Reason string `yaml:"reason,omitempty"`
}

type keySpec struct {
	Epoch   int       `yaml:"epoch"`
	Renewed time.Time `yaml:"renewed,omitempty"`
	Retired time.Time `yaml:"retired,omitempty"`
	Adopted time.Time `yaml:"adopted,omitempty"`
	// Environments are kept as people have written them.
	Environments []string `yaml:"environments,omitempty"`
	Reason       string   `yaml:"reason,omitempty"`
}

type freezeSpec struct {
	Reason       string          `yaml:"reason"`
	Scope        string          `yaml:"scope,omitempty"`
	Environments []string        `yaml:"environments,omitempty"`
	From         time.Time       `yaml:"from,omitempty"`
	To           time.Time       `yaml:"to,omitempty"`
	Waves        string          `yaml:"waves,omitempty"`
	Except       []exceptionSpec `yaml:"except,omitempty"`
}

type exceptionSpec struct {
	Commit string `yaml:"commit"`
	Reason string `yaml:"reason"`
}

// The files of actions are below the folder of an environment or of the base; holds are in
// [promoter.HoldFile].
func approvalFile(folder, name string) string {
	return path.Join(folder, source.OwnFolder, "approvals", name+".yaml")
}

func freezeFile(name string) string { return path.Join(source.OwnFolder, "freezes", name+".yaml") }

// approvalName returns the name of an approval: the beginning of the commit's id, and the approver.
// Where the address cannot be part of a name as it is, a digest keeps names apart.
func approvalName(commit, address string) string {
	words := strings.FieldsFunc(strings.ToLower(address), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	joined := strings.Join(words, "-")
	short := strings.Trim(joined[:min(len(joined), 100)], "-")
	if short != address {
		short = fmt.Sprintf("%s-%.4x", short, sha256.Sum256([]byte(address)))
	}
	return commit[:min(len(commit), 12)] + "-" + short
}
