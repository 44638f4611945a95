package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestChain reads a base, and shows the chain and all else that it says about
// promotion. A file "next" has lines of environments that follow each other, as the
// settings may say.
func TestChain(t *testing.T) {
	golden.Run(t, "testdata/chain/*.txtar", func(t *testing.T, c *golden.Case) {
		layer := model.Layer{Kind: model.Base, Name: "main", Files: c.Tree(t, "base")}
		p := model.NewParser()
		progress := p.Progress("", layer)
		next := map[string]string{}
		for line := range strings.Lines(c.Text("next")) {
			from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
			next[from] = to
		}
		chain, problems := model.NewChain(progress, p.Scan("", layer).Environments, next)
		_, twice := progress.ListClusters()
		c.Want(t, "problems", golden.Problems(append(append(problems, twice...), progress.Problems...).Sorted()))
		c.Want(t, "chain", showChain(chain)+showProgress(progress))
	})
}

func showChain(c model.Chain) string {
	var b strings.Builder
	if c.Inferred != "" {
		fmt.Fprintf(&b, "inferred from %s\n", c.Inferred)
	}
	if c.External {
		b.WriteString("external\n")
	}
	for _, s := range c.Stages {
		fmt.Fprintf(&b, "%s after %v queue %s", s.Name, s.After, s.Queue.Policy)
		if s.Queue.Every > 0 {
			fmt.Fprintf(&b, " %s", s.Queue.Every)
		}
		fmt.Fprintf(&b, " record %q merge %q gates %s proof %s\n", s.Record, s.Merge, showGates(s.Gates), showGates(s.Proof))
	}
	return b.String()
}

func showGates(gates []model.GateSpec) string {
	if gates == nil {
		return "not written"
	}
	var all []string
	for _, g := range gates {
		text := g.Kind
		if g.Name != "" {
			text += " named " + g.Name
		}
		all = append(all, fmt.Sprintf("%s at %s", text, g.Pos))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func showProgress(p *model.Progress) string {
	var b strings.Builder
	for _, f := range p.Freezes {
		fmt.Fprintf(&b, "freeze %s (%s) of %v from %s to %s except %v: %s\n", f.Name, f.Scope, f.Environments, f.From, f.To, f.Except, f.Reason)
	}
	for _, h := range p.Holds {
		fmt.Fprintf(&b, "hold %q (%s): %s\n", h.Commit, h.Scope, h.Reason)
	}
	for _, a := range p.Approvals {
		fmt.Fprintf(&b, "approval %q: %s\n", a.Commit, a.Reason)
	}
	for _, r := range p.HoldReleases {
		fmt.Fprintf(&b, "release %q: %s\n", r.Commit, r.Reason)
	}
	for _, k := range p.Keys {
		fmt.Fprintf(&b, "key of %s in epoch %d since %s: %s\n", k.Name, k.Epoch, k.Renewed, k.Reason)
	}
	listed, _ := p.ListClusters()
	for _, c := range listed {
		fmt.Fprintf(&b, "cluster %s of type %s in group %q with %v\n", c.Name, c.Type, c.Group, c.Labels)
	}
	for _, e := range p.Ephemerals {
		fmt.Fprintf(&b, "ephemeral from %s until %s on %s\n", e.From, e.Expires, e.ClusterTypes)
	}
	return b.String()
}

// TestRank: environments are in the order of promotion, those that are not promoted last.
func TestRank(t *testing.T) {
	c := model.Chain{Stages: []model.Stage{{Name: "dev"}, {Name: "stage"}, {Name: "prod"}}}
	for name, want := range map[string]int{"dev": 0, "stage": 1, "prod": 2, "lab": 3} {
		if got := c.Rank(name); got != want {
			t.Errorf("the rank of %s is %d, want %d", name, got, want)
		}
	}
}
