package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newSchedule(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "schedule",
		GroupID: groupMain,
		Short:   "Show which cluster types were chosen, and what would move",
		Long: `A policy with the annotation fairlead.io/choose chooses some of the cluster types that it
selects. Show lists what was chosen, what-if says what a change of cluster types would move, and
export prints what was chosen for other programs. They choose in memory, from what is committed,
and write nothing. Rebalance and forget choose anew, in a commit of yours.`,
		Example: `  fairlead schedule show -e prod
  fairlead schedule what-if -e prod --drain large-eu-1`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScheduleShow(a), newWhatIf(a), newRebalance(a), newForget(a), newScheduleExport(a))
	return c
}

type scheduleCommand struct {
	app   *app
	input input
}

// loadModel returns the model of the environment. One that check stops is an error, or if it is to be shown a warning.
func (s *scheduleCommand) loadModel(ctx context.Context, shows bool) (*model.Model, error) {
	if err := s.input.openSource(ctx); err != nil {
		return nil, err
	}
	names, err := s.input.selectEnvironments(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(names) > 1:
		return nil, newAmbiguityError(names)
	}
	m, problems, err := s.input.source.LoadModel(ctx, names[0], source.Revisions{})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, newProblemsError(problems)
	}
	r, err := s.input.renderEnvironment(ctx, names[0], source.Revisions{}, nil)
	if err != nil || !r.Problems.StopsEnvironment() {
		return m, err
	}
	if !shows {
		return nil, newProblemsError(r.Problems)
	}
	fmt.Fprintf(s.app.stderr, "fairlead: %sthis is not deployed: %s is stopped by problems, which fairlead check names\n", s.app.stderr.Paint(display.Yellow, "warning: "), names[0])
	return m, nil
}

func newScheduleShow(a *app) *cobra.Command {
	s := &scheduleCommand{app: a}
	types := false
	c := &cobra.Command{
		Use:   "show",
		Short: "List what the policies of an environment have chosen",
		Long: `Show lists the units that policies with a choice place, with the cluster types that they are on.
A place with a plus sign was not committed yet. With --types it lists the cluster types instead,
with what is used of their capacity.`,
		Example: `  fairlead schedule show -e prod
  fairlead schedule show -e prod --types`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := s.loadModel(c.Context(), true)
			if err != nil {
				return err
			}
			if types {
				return a.printListing(listTypes(m, schedule.NewPlan(m, nil)))
			}
			return a.printListing(listUnits(m, schedule.NewPlan(m, nil)))
		},
	}
	s.input.addEnvironmentFlag(c, "the only one there is")
	c.Flags().BoolVar(&types, "types", false, "list cluster types, and what is used of them")
	a.addOutputFlag(c)
	s.input.addInputFlags(c)
	return c
}

func newScheduleExport(a *app) *cobra.Command {
	s := &scheduleCommand{app: a}
	namespace := ""
	c := &cobra.Command{
		Use:   "export",
		Short: "Print what was chosen as PlacementDecisions",
		Long: `Export prints a PlacementDecision of Open Cluster Management for each unit that a policy with a
choice places, or several if it has more than 100 clusters. The Placement that they name is
POLICY-UNIT. The clusters are those that ClusterLists have of the cluster types; of a type
without listed clusters, or with --environment-dir, one of its name.`,
		Example: `  fairlead schedule export -e prod --namespace argocd`,
		Args:    checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := kubename.Check(namespace); err != nil {
				return usageErrorf("", "--namespace: %v", err)
			}
			m, err := s.loadModel(c.Context(), false)
			if err != nil {
				return err
			}
			branch, err := s.input.source.Branch(c.Context(), m.Environment)
			if err != nil {
				return err
			}
			clusters := map[string][]string{}
			listed, _ := branch.Progress.ListClusters() // problems are reported by check
			for _, cluster := range listed {
				folder := m.FolderOf(cluster.Name, cluster.Type)
				clusters[folder] = append(clusters[folder], cluster.Name)
			}
			text, err := yamldoc.Encode(schedule.NewPlan(m, nil).PlacementDecisions(namespace, clusters)...)
			if err != nil {
				return err
			}
			if len(text) == 0 {
				fmt.Fprintf(a.stderr, "no policy of %s has a choice\n", m.Environment)
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	s.input.addEnvironmentFlag(c, "the only one there is")
	c.Flags().StringVar(&namespace, "namespace", "default", "the `namespace` of the objects")
	s.input.addInputFlags(c)
	return c
}

func newRebalance(a *app) *cobra.Command {
	e, atMost := newEditCommand(a), schedule.NoLimit
	c := &cobra.Command{
		Use:   "rebalance [POLICY...]",
		Short: "Choose anew, whatever was chosen before",
		Long: `Rebalance chooses for the policies as if nothing had been chosen before, for all that Fairlead
decides if none is named, and writes that. What moves is printed, and is in the pull request. With
--at-most it makes the moves that gain most by labels, scores and taints.` + editHelp,
		Example: `  fairlead schedule rebalance -e prod --dry-run
  fairlead schedule rebalance checkout -e prod --at-most 10 --pull-request`,
		Args: checkArguments(0, maxSettings),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case e.environment == "":
				return usageErrorf("as in -e prod", "rebalance needs an environment")
			case c.Flags().Changed("at-most") && atMost < 0:
				return usageErrorf("0 or more", "--at-most cannot be %d", atMost)
			}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				r, err := actions.Rebalance(c.Context(), d, actions.RebalanceOptions{Environment: e.environment, Policies: args, AtMost: atMost, Reason: e.reason})
				return r, explainPolicyError(err)
			}, e.environment)
		},
	}
	c.Flags().IntVar(&atMost, "at-most", schedule.NoLimit, "make this `number` of moves, those that gain most (default: all)")
	e.addEditFlags(c, "`name` of the environment")
	return c
}

func newForget(a *app) *cobra.Command {
	e := newEditCommand(a)
	c := &cobra.Command{
		Use:   "forget POLICY",
		Short: "Remove what was chosen for a policy",
		Long: `Forget removes the file of what was chosen for a policy, also one that cannot be read or that an
external scheduler has decided. The policy is decided from nothing then.` + editHelp,
		Example: `  fairlead schedule forget checkout -e prod --reason "the file is broken"`,
		Args:    checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if e.environment == "" {
				return usageErrorf("as in -e prod", "forget needs an environment")
			}
			return e.runEdit(c.Context(), func(d *actions.Session) (actions.Result, error) {
				return actions.ForgetDecision(c.Context(), d, e.environment, args[0], e.reason)
			}, e.environment)
		},
	}
	e.addEditFlags(c, "`name` of the environment")
	return c
}

// listedUnit is a unit for programs.
type listedUnit struct {
	Unit         string   `json:"unit" yaml:"unit"`
	Policy       string   `json:"policy" yaml:"policy"`
	Places       int      `json:"places" yaml:"places"`
	Pick         int      `json:"pick" yaml:"pick"` // -1 for all
	ClusterTypes []string `json:"clusterTypes" yaml:"clusterTypes"`
	New          []string `json:"new" yaml:"new"` // those of them that are not written down yet
}

func listUnits(m *model.Model, plan *schedule.Plan) listing {
	l := listing{columns: []column{{key: "unit"}, {key: "policy"}, {key: "places"}, {key: "clusterTypes"}}, empty: "no policy chooses cluster types\n"}
	values := []listedUnit{}
	for _, u := range plan.Units() {
		v := listedUnit{Unit: u.Name, Policy: u.Policy.Name, Places: len(u.Places), Pick: u.Policy.Choice.Pick, ClusterTypes: []string{}, New: []string{}}
		places := fmt.Sprint(len(u.Places))
		if v.Pick != model.PickAll {
			places = fmt.Sprintf("%d of %d", len(u.Places), v.Pick)
		}
		shown := []string{}
		for _, p := range u.Places {
			name := m.ClusterTypes[p.ClusterType].Name
			v.ClusterTypes = append(v.ClusterTypes, name)
			if !p.Kept {
				v.New = append(v.New, name)
				name += "+"
			}
			shown = append(shown, name)
		}
		values = append(values, v)
		l.rows = append(l.rows, []any{u.Name, u.Policy.Name, places, shown})
	}
	l.value = values
	return l
}

func listTypes(m *model.Model, plan *schedule.Plan) listing {
	units := make([]int, len(m.ClusterTypes))
	for _, u := range plan.Units() {
		for _, p := range u.Places {
			units[p.ClusterType]++
		}
	}
	l := listing{columns: []column{{key: "clusterType"}, {key: "units"}, {key: "used"}, {key: "taints"}, {key: "measured", wide: true}}}
	for i, c := range m.ClusterTypes {
		used, taints := []string{}, []string{}
		for _, u := range plan.Usage(i) {
			used = append(used, u.String())
		}
		for _, t := range c.Taints {
			taints = append(taints, t.String())
		}
		l.rows = append(l.rows, []any{c.Name, units[i], used, taints, describeMeasures(m, c)})
	}
	return l
}

func describeMeasures(m *model.Model, c *model.ClusterType) string {
	var all []string
	for _, measures := range m.Measures {
		if !measures.Capacity || !measures.Selects.Matches(c.Labels) {
			continue
		}
		text := measures.Name
		if at := measures.Annotations[model.MeasuredAnnotation]; at != "" {
			text += " (" + strings.TrimSpace(at+" "+measures.Annotations[model.MeasuredByAnnotation]) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
