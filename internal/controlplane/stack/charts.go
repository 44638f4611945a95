package stack

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// OutputsSecret returns the name of the Secret that holds the outputs of a component.
func (c *Component) OutputsSecret() string { return c.ObjectName + "-outputs" }

// FindKubeconfig returns the Secret, and the key in it, with the kubeconfig of the cluster that a chart is
// installed on; "" for the cluster that runs the stack. If it is an output, that is the cluster of the charts
// which need the component: it is not there before.
func (c *Component) FindKubeconfig(charts model.StackCharts) (secret, key string) {
	if charts.Kubeconfig.Secret != "" {
		return charts.Kubeconfig.Secret, charts.Kubeconfig.Key
	}
	if maker, output := c.findClusterMaker(charts); maker != nil {
		return maker.OutputsSecret(), output
	}
	return "", ""
}

// findClusterMaker returns the component that a chart needs, directly or not, and that makes the cluster of
// charts; nil if there is none.
func (c *Component) findClusterMaker(charts model.StackCharts) (maker *Component, output string) {
	name, output := splitOutput(charts.Kubeconfig.Output)
	if name == "" {
		return nil, ""
	}
	seen := map[*Component]bool{}
	for open := slices.Clone(c.Needs); len(open) > 0; {
		n := open[0]
		open = open[1:]
		if n.Name == name && n.Type == Terraform {
			return n, output
		}
		if !seen[n] {
			seen[n] = true
			open = append(open, n.Needs...)
		}
	}
	return nil, ""
}

func splitOutput(written string) (component, output string) {
	i := max(0, strings.LastIndexByte(written, '.'))
	return written[:i], strings.TrimPrefix(written[i:], ".")
}

func checkCharts(s *model.StackSettings, addProblem func(hint, format string, args ...any)) {
	k := s.Charts.Kubeconfig
	if k == (model.StackKubeconfig{}) {
		return
	}
	component, output := splitOutput(k.Output)
	switch {
	case (k.Output == "") == (k.Secret == ""):
		addProblem("", "spec.charts.kubeconfig has an output or a secret, and one of them")
	case k.Output != "" && (component == "" || !identifier.MatchString(output)):
		addProblem("write it as COMPONENT.OUTPUT, as eks.kubeconfig", "spec.charts.kubeconfig.output cannot be %q", text.Shorten(k.Output, 100))
	case k.Output != "" && k.Key != "":
		addProblem("remove it", "spec.charts.kubeconfig.key is that of a secret, and the kubeconfig is an output")
	case k.Secret != "" && kubename.Check(k.Secret) != nil:
		addProblem("", "spec.charts.kubeconfig.secret: %v", kubename.Check(k.Secret))
	case k.Key != "" && !kubename.IsDataKey(k.Key):
		addProblem("", "spec.charts.kubeconfig.key cannot be %q", text.Shorten(k.Key, 100))
	}
}

func (s *Stack) makes(name string) bool {
	c := s.FindComponent(name)
	return c != nil && c.Type == Terraform
}

// warnOfKubeconfig warns of a kubeconfig that is the output of a component which no stack has, though there are charts.
func (r *resolver) warnOfKubeconfig(stacks []*Stack) {
	isChart := func(c *Component) bool { return c.Type == Helm }
	if !slices.ContainsFunc(stacks, func(s *Stack) bool { return slices.ContainsFunc(s.Components, isChart) }) {
		return
	}
	for _, settings := range r.model.Stacks.Settings {
		name, _ := splitOutput(settings.Charts.Kubeconfig.Output)
		if name == "" || slices.ContainsFunc(stacks, func(s *Stack) bool { return s.makes(name) }) {
			continue
		}
		var known []string
		for _, s := range stacks {
			for _, c := range s.Components {
				if c.Type == Terraform {
					known = append(known, c.Name)
				}
			}
		}
		r.problems.Warnf(settings.Pos, settings.Subject(), problem.DidYouMean(name, known),
			"no stack has a component %s of type terraform, whose output spec.charts.kubeconfig names: charts are installed on the cluster that runs the stack", name)
	}
}

// checkCluster reports a chart for whose cluster there is no kubeconfig, and warns of one that is installed
// where CloudKnit's users may not expect it. hint is about its source.
func (r *resolver) checkCluster(c *Component, hint string) {
	var charts model.StackCharts
	for _, settings := range r.model.Stacks.Settings {
		charts = settings.Charts
	}
	s, line := c.Stack, c.StackComponent.Type.Line
	maker, output := c.findClusterMaker(charts)
	if maker != nil && !slices.ContainsFunc(maker.Outputs, func(o model.StackOutput) bool { return o.Name.Text == output }) {
		r.addf(s, maker.StackComponent.Name.Line, "add it to its outputs", "component %s has no output %s, which is the kubeconfig for the chart %s by spec.charts of the StackSettings", maker.Name, output, c.Name)
	}
	where := "on the cluster that runs the stack"
	if secret, _ := c.FindKubeconfig(charts); secret != "" {
		where = "on the cluster whose kubeconfig is in the Secret " + secret
		if hint == "" {
			return
		}
	} else if name, _ := splitOutput(charts.Kubeconfig.Output); s.makes(name) {
		hint = "to have it on the cluster of " + name + ", add " + name + " to its dependsOn"
	}
	r.warnf(s, line, hint, "component %s: CloudKnit does not take the type helm; here it is a HelmRelease %s", c.Name, where)
}
