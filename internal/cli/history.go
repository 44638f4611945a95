package cli

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type historyCommand struct {
	context *commandContext
	limit   uint
	lane    string // "" for all changes
}

func newHistory(a *app) *cobra.Command {
	h := &historyCommand{context: newCommandContext(a)}
	c := &cobra.Command{
		Use:     "history ENVIRONMENT",
		GroupID: groupPromotion,
		Short:   "List the commits that an environment had",
		Long: `History lists the commits of the base that were promoted to an environment, newest first: since
when it had each, and who changed the record, by promotion, rollback or by hand. It reads the
record of the environment in Git, that of its lanes, and its versions of applications. With --lane
it lists the commits that the environment had of one lane.`,
		Example: `  fairlead history prod
  fairlead history prod --limit 100 --output json`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(h.context.completeNames),
		RunE:              func(c *cobra.Command, args []string) error { return h.runHistory(c.Context(), args[0]) },
	}
	c.Flags().SortFlags = false
	c.Flags().UintVar(&h.limit, "limit", 20, "the most `entries`")
	addLaneFlag(c, &h.lane)
	h.context.addControlPlaneFlags(c)
	a.addOutputFlag(c)
	return c
}

func (h *historyCommand) runHistory(ctx context.Context, environment string) error {
	cc := h.context
	if err := cc.locateControlPlane(); err != nil {
		return err
	}
	o := source.Options{ControlPlane: cc.controlPlane, Open: cc.newMirrors().Open, Parser: model.NewParser()}
	if cc.settings != nil {
		o.BaseBranch, o.Map = cc.settings.ControlPlane.Branch, cc.settings.Map
	}
	src, err := source.Open(ctx, o)
	if err != nil {
		return cc.withControlPlaneHint(err)
	}
	base, err := src.Base(ctx)
	if err != nil {
		return err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, nil) // check reports its problems
	names := list.Convert(base.Environments, func(e *model.Environment) string { return e.Name })
	if err := checkEnvironments(chain.SortNames(names), environment); err != nil {
		return err
	}
	branch, err := src.Branch(ctx, environment)
	if err != nil {
		return err
	}
	if branch.Repo == nil {
		return usageErrorf("fairlead check names what is wrong with it", "the branch %s of %s cannot be read", branch.Name, environment)
	}
	l := listing{empty: fmt.Sprintf("nothing was promoted to %s yet\n", environment), columns: []column{{key: "since"}, {key: "commit"}, {key: "age"}, {key: "by", fit: display.Shorten}, {key: "change", fit: display.Shorten}, {key: "subject", wide: true, fit: display.Shorten}}}
	line, err := branch.Repo.FirstParents(branch.Head, maxBehind, func(string) bool { return false })
	if err != nil {
		return err
	}
	state, err := h.readState(branch, branch.Head)
	if err != nil {
		return err
	}
	var had []string
	for i, head := range line {
		if len(l.rows) == int(h.limit) {
			break
		}
		commit, now := state.commit, state
		if i+1 < len(line) {
			state, err = h.readState(branch, line[i+1])
			if err != nil {
				return err
			}
			if now == state {
				continue
			}
		}
		changed, err := branch.Repo.Commit(head)
		if err != nil {
			return err
		}
		if commit == "" { // before the first promotion
			break
		}
		shown := commit
		if cc.app.isText() {
			shown = text.ShortCommit(commit)
		}
		id, subject, err := findSubject(base, commit)
		if err != nil {
			return err
		}
		had = append(had, cmp.Or(id, base.Head))
		since := changed.When.UTC().Format(time.RFC3339)
		l.names = append(l.names, commit)
		l.rows = append(l.rows, []any{since, shown, display.FormatAge(cc.now().Sub(changed.When)), changed.Author.Name, changed.Subject(), subject})
	}
	if h.lane != "" {
		if err := actions.CheckLane(base, h.lane, had...); err != nil {
			return err
		}
	}
	return cc.app.printListing(l)
}

func findSubject(base source.Base, commit string) (id, subject string, err error) {
	id, err = base.Repo.Resolve(commit)
	if err != nil {
		return "", "", nil
	}
	info, err := base.Repo.Commit(id)
	return id, info.Subject(), err
}

// recordState is what a branch says of the base of its environment.
type recordState struct {
	commit  string     // of the environment, or of the lane
	written [3]tree.ID // the record, the file of the lanes, and the versions; the last alone, if one lane is wanted
}

func (h *historyCommand) readState(b source.Branch, head string) (state recordState, err error) {
	state.commit, err = b.CommitAt(head)
	if err != nil || state.commit == "" {
		return state, err
	}
	if h.lane != "" {
		lanes, err := b.LanesAt(head)
		if err != nil {
			return state, err
		}
		state.commit = cmp.Or(lanes[h.lane], state.commit)
		pins, _, err := b.Repo.FindEntry(head, model.PinsFile(b.Folder, h.lane))
		state.written[0] = pins.ID
		return state, err
	}
	for i, file := range []string{b.Record, source.LanesFile(b.Folder), path.Join(b.Folder, model.PinsFolder)} {
		e, _, err := b.Repo.FindEntry(head, file)
		if err != nil {
			return state, err
		}
		state.written[i] = e.ID
	}
	return state, nil
}
