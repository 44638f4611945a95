package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

type whatIfCommand struct {
	scheduleCommand
	all                             bool
	drain, add                      []string
	taints, capacity, labels, picks []string
	overlay                         schedule.Overlay
}

func newWhatIf(a *app) *cobra.Command {
	w := &whatIfCommand{scheduleCommand: scheduleCommand{app: a}}
	c := &cobra.Command{
		Use:   "what-if",
		Short: "Say what a change of cluster types would move",
		Long: `What-if chooses twice, as the control plane is and as it would be, and lists the units that
move, those that have too few places and why, and what is used afterwards of the cluster types
that get more.

The exit code is 4 if something moves, and 3 if something would have too few places.`,
		Example: `  fairlead schedule what-if -e prod --drain large-eu-1
  fairlead schedule what-if -e prod --remove small-us-1 --pick checkout=4
  fairlead schedule what-if -e prod --capacity large-eu-1=cpu=8,memory=32Gi --label large-eu-2=region=us`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return w.runWhatIf(c.Context()) },
	}
	w.input.addEnvironmentFlag(c, "the only one there is")
	f := c.Flags()
	f.StringArrayVar(&w.drain, "drain", nil, "a cluster `type` gets the taint drain:NoSelect")
	f.StringArrayVar(&w.add, "add", nil, "the cluster types and capacities of a `file` are added")
	f.StringArrayVar(&w.overlay.Remove, "remove", nil, "a cluster `type` is gone")
	f.StringArrayVar(&w.taints, "taint", nil, "`TYPE=TAINT`: a cluster type gets a taint, as edge=true:NoSelect")
	f.StringArrayVar(&w.capacity, "capacity", nil, "`TYPE=RESOURCE=AMOUNT`: a cluster type has another capacity; several with commas")
	f.StringArrayVar(&w.labels, "label", nil, "`TYPE=KEY=VALUE`: a cluster type gets a label")
	f.StringArrayVar(&w.picks, "pick", nil, "`POLICY=NUMBER`: a policy picks another number, or all")
	f.BoolVar(&w.overlay.FromScratch, "from-scratch", false, "forget what was chosen")
	f.BoolVar(&w.all, "all", false, "say for each cluster type why a unit with too few places cannot be there")
	a.addOutputFlag(c)
	w.input.addInputFlags(c)
	return c
}

func (w *whatIfCommand) runWhatIf(ctx context.Context) error {
	if err := w.readOverlay(); err != nil {
		return err
	}
	m, err := w.loadModel(ctx, true)
	if err != nil {
		return err
	}
	m, err = w.withFiles(m)
	if err != nil {
		return err
	}
	c, err := schedule.Simulate(m, w.overlay)
	if err != nil {
		return explainPolicyError(err)
	}
	names := []string{}
	for _, change := range c.Changes {
		names = append(names, change.Unit.Name)
	}
	if err := w.app.printValue(newWhatIfValue(c), names, func() string { return formatWhatIf(c, w.all) }); err != nil {
		return err
	}
	switch {
	case c.Short > 0:
		return &problemsError{summary: fmt.Sprintf("%s would have too few places", text.Count(c.Short, "unit"))}
	case len(c.Changes) > 0:
		return errDiffers
	}
	return nil
}

func explainPolicyError(err error) error {
	if unknown, ok := errors.AsType[*schedule.UnknownError](err); ok {
		return newUnknownError(unknown.Kind, unknown.Name, unknown.Known)
	}
	if foreign, ok := errors.AsType[*schedule.NotOwnError](err); ok {
		return usageErrorf("", "%v", foreign)
	}
	return err
}

func (w *whatIfCommand) readOverlay() error {
	o := &w.overlay
	o.Taints, o.Capacity, o.Labels, o.Pick = map[string][]model.Taint{}, map[string]model.Amounts{}, map[string]map[string]string{}, map[string]int{}
	for _, name := range w.drain {
		o.Taints[name] = append(o.Taints[name], model.Taint{Key: "drain", Effect: model.NoSelect})
	}
	for _, flag := range w.taints {
		name, value, _ := strings.Cut(flag, "=")
		taint, ok := model.ParseTaint(value)
		if !ok {
			return usageErrorf("write it as --taint large-eu-1=edge=true:NoSelect", "--taint %s is not a cluster type and a taint", flag)
		}
		o.Taints[name] = append(o.Taints[name], taint)
	}
	for _, flag := range w.capacity {
		name, value, _ := strings.Cut(flag, "=")
		if o.Capacity[name] == nil {
			o.Capacity[name] = model.Amounts{}
		}
		for part := range strings.SplitSeq(value, ",") {
			resource, amount, _ := strings.Cut(part, "=")
			parsed, err := model.ParseQuantity(amount)
			if err != nil {
				return usageErrorf("write it as --capacity large-eu-1=cpu=8", "--capacity %s: %v", flag, err)
			}
			o.Capacity[name][resource] = parsed
		}
	}
	for _, flag := range w.labels {
		parts := strings.SplitN(flag, "=", 3)
		if len(parts) != 3 {
			return usageErrorf("write it as --label large-eu-1=region=us", "--label %s is not a cluster type, a label and a value", flag)
		}
		if o.Labels[parts[0]] == nil {
			o.Labels[parts[0]] = map[string]string{}
		}
		o.Labels[parts[0]][parts[1]] = parts[2]
	}
	for _, flag := range w.picks {
		policy, value, _ := strings.Cut(flag, "=")
		pick, err := strconv.Atoi(value)
		if value == "all" {
			pick, err = model.PickAll, nil
		} else if err != nil || pick < 0 {
			return usageErrorf("write it as --pick checkout=3", "--pick %s is not a policy and a number", flag)
		}
		o.Pick[policy] = pick
	}
	return nil
}

// withFiles returns the model with the capacities of the files of --add, whose cluster types are in the overlay then.
func (w *whatIfCommand) withFiles(m *model.Model) (*model.Model, error) {
	c := *m
	for _, file := range w.add {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		files := tree.FromEntries([]tree.Entry{tree.File("added.yaml", data)})
		added, problems := model.Parse(m.Environment, model.Layer{Kind: model.Env, Name: file, Files: files})
		problems = slices.DeleteFunc(problems, func(p problem.Problem) bool { return p.Warning || p.Pos.File == "" })
		if problems.Stops() {
			return nil, newProblemsError(problems)
		}
		w.overlay.Add = append(w.overlay.Add, added.ClusterTypes...)
		c.Measures = append(slices.Clip(c.Measures), added.Measures...)
	}
	return &c, nil
}

type whatIfValue struct {
	Changes []unitChange `json:"changes" yaml:"changes"`
	Short   int          `json:"short" yaml:"short"` // units with too few places
	Stay    int          `json:"stay" yaml:"stay"`
}

type unitChange struct {
	Policy    string          `json:"policy" yaml:"policy"`
	Unit      string          `json:"unit" yaml:"unit"`
	Moves     []schedule.Move `json:"moves" yaml:"moves"`
	Obstacles string          `json:"obstacles,omitempty" yaml:"obstacles,omitempty"` // of a unit with too few places
}

func newWhatIfValue(c schedule.Comparison) whatIfValue {
	v := whatIfValue{Changes: []unitChange{}, Short: c.Short, Stay: c.Stay}
	for _, change := range c.Changes {
		u := unitChange{Policy: change.Unit.Policy.Name, Unit: change.Unit.Name, Moves: change.Moves}
		if change.Unit.IsShort() {
			u.Obstacles = schedule.CountObstacles(c.After.Candidates(change.Unit)).String()
		}
		v.Changes = append(v.Changes, u)
	}
	return v
}

func formatWhatIf(c schedule.Comparison, all bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Summary())
	name, move := 0, 0
	for _, change := range c.Changes {
		name = max(name, utf8.RuneCountInString(change.Unit.Name)+3)
		for _, m := range change.Moves {
			gap := 1 // behind the longest, of which those without a reason need none
			if m.To != "" || !change.Unit.IsShort() {
				gap = 3
			}
			move = max(move, utf8.RuneCountInString(change.DescribeMove(m))+gap)
		}
	}
	for _, change := range c.Changes {
		for _, m := range change.Moves {
			line := fmt.Sprintf("  %-*s%-*s%s", name, change.Unit.Name, move, change.DescribeMove(m), m.Reason)
			if m.To == "" && change.Unit.IsShort() { // the obstacles follow
				line = fmt.Sprintf("  %-*s%s", name, change.Unit.Name, change.DescribeMove(m))
			}
			fmt.Fprintln(&b, strings.TrimRight(line, " "))
		}
		if change.Unit.IsShort() {
			writeObstacles(&b, c.After, change.Unit, all)
		}
	}
	if usage := describeGains(c); usage != "" {
		fmt.Fprintf(&b, "after it: %s\n", usage)
	}
	return b.String()
}

func writeObstacles(b *strings.Builder, plan *schedule.Plan, u *schedule.Unit, all bool) {
	candidates := plan.Candidates(u)
	fmt.Fprintf(b, "    %s\n", schedule.CountObstacles(candidates))
	if !all {
		return
	}
	for i, c := range candidates {
		fmt.Fprintf(b, "      %s: %s\n", plan.Model().ClusterTypes[c.ClusterType].Name, c.Describe(i))
	}
}

func describeGains(c schedule.Comparison) string {
	m := c.After.Model()
	var gaining []int
	for _, change := range c.Changes {
		for _, move := range change.Moves {
			if i, known := model.IndexOf(m.ClusterTypes, move.To); known {
				gaining = append(gaining, i)
			}
		}
	}
	slices.Sort(gaining)
	var all []string
	for _, i := range slices.Compact(gaining) {
		for _, u := range c.After.Usage(i) {
			all = append(all, m.ClusterTypes[i].Name+" "+u.String())
		}
	}
	return strings.Join(all, ", ")
}
