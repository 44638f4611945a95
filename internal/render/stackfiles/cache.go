package stackfiles

import (
	"crypto/sha256"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// Cache keeps the components of the last rendering, so that the next one costs what has changed. The
// zero Cache is empty; nil keeps nothing.
type Cache struct {
	components map[cacheKey]renderedFiles
	rendered   int
}

// Rendered returns the number of components that were rendered since the cache was made. The others
// were in it.
func (c *Cache) Rendered() int { return c.rendered }

// cacheKey is a digest of all that the files of a component are made from.
type cacheKey [sha256.Size]byte

// renderedFiles are the files of a component, and what is wrong with them.
type renderedFiles struct {
	files    tree.Tree
	problems problem.List
	state    string // that its root module leads to; "" if it has none, or that is not known
	targets  []string
	// unversioned reports that no plan of it can be approved, because a module has no version.
	unversioned bool
}

// neighbor is what the files of a component say of another one: of a chart, what it takes from it.
type neighbor struct {
	Stack, Workspace       string
	Name, Type, ObjectName string
	Destroyed              bool // decides about the order
	Variables              []stack.Variable
	// Component and Files are what a root module is made from that may name its backend itself: that is read.
	Component *model.StackComponent
	Files     []string
}

func (r *renderer) neighborsOf(all []*stack.Component) []neighbor {
	out := make([]neighbor, len(all))
	for i, c := range all {
		out[i] = neighbor{Stack: c.Stack.Path(), Workspace: c.Stack.Workspace, Name: c.Name, Type: c.Type, ObjectName: c.ObjectName, Destroyed: c.Destroyed}
		if c.Type == stack.Helm {
			out[i].Variables = c.Variables
		}
		if c.IsCopied() || rootmodule.HasOverlays(c) {
			out[i].Component, out[i].Files = c.StackComponent, r.filesOf(c)
		}
	}
	return out
}

func (r *renderer) keyOf(c *stack.Component) (cacheKey, error) {
	s := *c.Stack.Stack
	s.Components = nil
	cluster, key := c.FindKubeconfig(r.settings.Charts)
	text, err := json.Marshal(struct {
		Settings                  *stack.Settings
		WaitImage                 string
		Stopped                   bool
		Stack                     model.Stack
		Team, Env, Company, Space string
		Component                 *model.StackComponent
		Name, ObjectName, Cluster string
		Needs, NeededBy, Reads    []neighbor
		Auto, Protected, ByTeam   bool
		Gone, Skips               bool
		Drift                     int64
		Variables                 []stack.Variable
		Tags                      map[string]string
		Approval                  *model.PlanApproval
		Request                   *model.PlanRequest
		Environments              []*model.Environment
		Teams                     []*model.Team
		Files                     []string
	}{
		r.settings, waitImage(r.model), r.isStopped(), s, c.Stack.Team, c.Stack.Env, c.Stack.Company, c.Stack.Namespace,
		c.StackComponent, c.Name, c.ObjectName, cluster + "/" + key, r.neighborsOf(c.Needs), r.neighborsOf(c.NeededBy), r.neighborsOf(c.Reads), c.AutoApprove, c.Protected, c.ProtectedByTeam, c.Destroyed, c.Skipped,
		int64(c.DriftInterval), c.Variables, c.Tags, r.approvals[c], rootmodule.FindRequest(r.model, c.Stack.Path(), c.Name), r.model.Environments, r.model.Stacks.Teams, r.filesOf(c),
	})
	return sha256.Sum256(text), err
}

func (r *renderer) filesOf(c *stack.Component) []string {
	all := []string{r.model.Environment, r.model.Stacks.Layers[c.Stack.Pos.Layer].Prefix}
	add := func(layerName, file string) {
		layer := r.model.Stacks.Layers[layerName]
		inLayer := strings.TrimPrefix(path.Clean("/"+file), path.Clean("/"+layer.Prefix))
		e, ok := layer.Files.Lookup(strings.Trim(inLayer, "/"))
		switch {
		case ok:
			all = append(all, e.ID.String(), string(rune(e.Mode)))
		case strings.Trim(inLayer, "/") == "":
			all = append(all, layer.Files.ID().String())
		default:
			all = append(all, "")
		}
	}
	if f := c.VariablesFile; f != nil {
		add(c.Stack.LayerAt(f.Path.Line), f.Path.Text)
	}
	if folder, own := rootmodule.OwnFolder(r.model, c); own {
		add(rootmodule.LocalLayer(c), folder)
	}
	for _, o := range c.OverlayFiles {
		for _, p := range append([]model.Text{o.Path}, o.Paths...) {
			add(c.Stack.LayerAt(p.Line), p.Text)
		}
	}
	return append(all, rootmodule.InputFiles(r.model, c)...)
}

// addComponent adds the files of a component, from the cache if they are in it.
func (r *renderer) addComponent(folder string, c *stack.Component) {
	key, err := r.keyOf(c)
	r.reportUnrendered(folder, err)
	done, known := r.cached[key]
	if !known || err != nil {
		own := &renderer{model: r.model, settings: r.settings, approvals: r.approvals, stopped: r.isStopped()}
		own.renderComponent(folder, c)
		done = renderedFiles{own.builder.Tree(), own.problems.StoppingStack(c.Stack.Path()), own.state, own.targets, own.unversioned}
		r.count++
	}
	r.used[key] = done
	if done.unversioned {
		r.unapprovable = append(r.unapprovable, c)
	}
	r.checkState(c, done.state)
	r.checkTargets(c, done.targets)
	r.problems = append(r.problems, slices.Clone(done.problems)...)
	for file, e := range done.files.Walk() {
		r.reportUnrendered(file, r.builder.AddEntry(file, e))
	}
}

// checkState reports a component whose state is that of another one: each would destroy what the other
// has made. Root modules that are generated without overlays have states of their own.
func (r *renderer) checkState(c *stack.Component, state string) {
	other := r.states[state]
	switch {
	case state == "":
	case other == nil:
		r.states[state] = c
	case other.Stack != c.Stack && other.Stack.Path() == c.Stack.Path(): // it was reported that there are two of one name
	case rootmodule.NamesState(r.model, c) || rootmodule.NamesState(r.model, other):
		keepsMine, keepsOther := r.keeps(c, state), r.keeps(other, state)
		if keepsMine == keepsOther || keepsOther || other.Stack == c.Stack {
			r.refuseState(c, other)
		}
		if other.Stack == c.Stack {
			return
		}
		if keepsMine == keepsOther || keepsMine {
			r.refuseState(other, c)
		}
		if keepsMine && !keepsOther {
			r.states[state] = c
		}
	}
}

func (r *renderer) keeps(c *stack.Component, state string) bool {
	return slices.ContainsFunc(r.kept, func(k stack.State) bool { return k.Stack == c.Stack.Path() && k.ID == state })
}

func (r *renderer) refuseState(c, other *stack.Component) {
	r.stopComponent(c, "give the backend of its root module another key",
		"component %s: its state is that of the component %s of the stack %s: each would destroy what the other has made", c.Name, other.Name, other.Stack.Path())
}
