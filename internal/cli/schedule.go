package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func newSchedule(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "schedule",
		GroupID: groupMain,
		Short:   "Show which cluster types were chosen, and what would move",
		Long: `A policy with the annotation fairlead.io/choose chooses some of the cluster types that it
selects. Show lists what was chosen, what-if says what a change of cluster types would move, and
export prints what was chosen for other programs. They choose in memory, from what is committed,
and write nothing.`,
		Example: `  fairlead schedule show -e prod
  fairlead schedule what-if -e prod --drain large-eu-1`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScheduleShow(a), newWhatIf(a), newScheduleExport(a))
	return c
}

type scheduleCommand struct {
	app   *app
	input input
}

func (s *scheduleCommand) loadModel(ctx context.Context) (*model.Model, error) {
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
	if err == nil && m == nil {
		err = newProblemsError(problems)
	}
	return m, err
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
			m, err := s.loadModel(c.Context())
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
			m, err := s.loadModel(c.Context())
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
				clusters[cluster.Type] = append(clusters[cluster.Type], cluster.Name)
			}
			text, err := yamldoc.Encode(schedule.NewPlan(m, nil).PlacementDecisions(namespace, clusters)...)
			if err == nil {
				_, err = a.stdout.Write(text)
			}
			return err
		},
	}
	s.input.addEnvironmentFlag(c, "the only one there is")
	c.Flags().StringVar(&namespace, "namespace", "default", "the `namespace` of the objects")
	s.input.addInputFlags(c)
	return c
}

func listUnits(m *model.Model, plan *schedule.Plan) listing {
	l := listing{columns: []column{{key: "unit"}, {key: "policy"}, {key: "places"}, {key: "clusterTypes"}}, empty: "no policy has the annotation " + model.ChooseAnnotation + "\n"}
	for _, u := range plan.Units() {
		places := fmt.Sprint(len(u.Places))
		if pick := u.Policy.Choice.Pick; pick != model.PickAll {
			places = fmt.Sprintf("%d of %d", len(u.Places), pick)
		}
		names := []string{}
		for _, p := range u.Places {
			name := m.ClusterTypes[p.ClusterType].Name
			if !p.Kept {
				name += "+"
			}
			names = append(names, name)
		}
		l.rows = append(l.rows, []any{u.Name, u.Policy.Name, places, names})
	}
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

// describeMeasures names the ConfigMaps that a cluster type has its capacity from, and when it was measured.
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
