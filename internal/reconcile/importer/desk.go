package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/kubeclient"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Options is what a [Desk] works with.
type Options struct {
	Settings       *config.Settings
	Remotes        *repos.Set
	PublishOptions func(*repos.Remote, forge.Forge) publish.Options
	Logger         *slog.Logger
	Now            func() time.Time
	Pause          func(failures int) time.Duration
}

// Desk proposes what inventories say of ClusterLists, and what hubs have decided. Its methods may be called at the same time.
type Desk struct {
	options Options
	mu      sync.Mutex
	answers map[int]answer // by index of the inventory in the settings
}

// answer is what an API server said last.
type answer struct {
	clusters []inventory.Cluster
	hub      []hubObject // of an inventory of PlacementDecisions
	err      error
	failures int
	next     time.Time
}

// New returns a desk that has not read anything.
func New(o Options) *Desk { return &Desk{options: o, answers: map[int]answer{}} }

// Next returns when an API server is to be read again, after now; the zero time if none is.
func (d *Desk) Next(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next time.Time
	for _, a := range d.answers {
		if a.next.After(now) && (next.IsZero() || a.next.Before(next)) {
			next = a.next
		}
	}
	return next
}

// Import proposes what the inventories of an environment say of its ClusterList and its decisions, and returns what needs
// attention. m is the model of the environment, or nil. What cannot be proposed now is a warning, and tried again.
func (d *Desk) Import(ctx context.Context, s *source.Source, environment string, m *model.Model) (problem.List, error) {
	if !d.options.Settings.Write || !shares.MayWrite(ctx) || !slices.ContainsFunc(d.options.Settings.Inventories, func(n config.Inventory) bool { return n.Environment == environment }) {
		return nil, nil
	}
	branch, err := s.Branch(ctx, environment)
	if err != nil || branch.Repo == nil {
		return nil, err
	}
	remote := d.options.Remotes.RemoteOf(branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return nil, nil
	}
	var problems problem.List
	for _, follow := range []func() error{
		func() error { return d.importPlacements(ctx, m, environment, branch, remote, &problems) },
		func() error { return d.importClusters(ctx, environment, branch, remote, &problems) },
	} {
		err := follow()
		if ctx.Err() != nil {
			return problems, ctx.Err()
		}
		if err != nil && !errors.Is(err, git.ErrStale) {
			problems.Warnf(problem.Pos{}, "Environment/"+environment, "retrying", "what its inventories say cannot be proposed: %s", text.OneLine(err.Error()))
		}
	}
	return problems, nil
}

func (d *Desk) importClusters(ctx context.Context, environment string, branch source.Branch, remote *repos.Remote, problems *problem.List) error {
	if !slices.ContainsFunc(d.options.Settings.Inventories, func(n config.Inventory) bool { return n.Environment == environment && isOfClusters(n) }) {
		return nil
	}
	clusters, isComplete := d.readAll(ctx, environment, branch, problems)
	if ctx.Err() != nil || !isComplete {
		return ctx.Err()
	}
	list, err := findList(environment, branch, problems)
	if err != nil || list == nil {
		return err
	}
	edits, err := list.newEdits(branch, clusters, problems)
	if err != nil {
		return err
	}
	for _, e := range edits {
		err = errors.Join(err, d.propose(ctx, remote, e))
	}
	return err
}

func (d *Desk) readAll(ctx context.Context, environment string, branch source.Branch, problems *problem.List) (all []inventory.Cluster, isComplete bool) {
	isComplete = true
	for i, n := range d.options.Settings.Inventories {
		if n.Environment != environment || !isOfClusters(n) {
			continue
		}
		var clusters []inventory.Cluster
		var err error
		place := "the folder " + n.Folder
		if n.Folder != "" {
			clusters, err = readFolder(branch, n.Folder)
		} else {
			place = fmt.Sprintf("the API server of inventories[%d]", i)
			var is answer
			is, err = d.readServer(ctx, i, n)
			clusters = is.clusters
		}
		switch {
		case err != nil:
			problems.Warnf(problem.Pos{}, "ClusterList", "what is listed stays; retrying", "%s cannot be read: %s", place, text.OneLine(err.Error()))
			isComplete = false
		case len(clusters) == 0: // more likely a mistake than a fleet that is gone
			problems.Warnf(problem.Pos{}, "ClusterList", "what is listed stays", "%s has no clusters", place)
			isComplete = false
		}
		all = append(all, clusters...)
	}
	return all, isComplete
}

// readServer returns what an API server has, read at most as often as the settings say.
func (d *Desk) readServer(ctx context.Context, i int, n config.Inventory) (answer, error) {
	d.mu.Lock()
	last := d.answers[i]
	d.mu.Unlock()
	now := d.options.Now()
	if now.Before(last.next) {
		return last, last.err
	}
	d.options.Logger.Debug("read an inventory", "environment", n.Environment, "kind", n.Kind)
	is := answer{next: now.Add(n.Every)}
	is.clusters, is.hub, is.err = listObjects(ctx, n)
	if is.err != nil {
		is.failures = last.failures + 1
		is.next = now.Add(d.options.Pause(is.failures))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[i] = is
	return is, is.err
}

func listObjects(ctx context.Context, n config.Inventory) (clusters []inventory.Cluster, hub []hubObject, err error) {
	kubeconfig, err := kubeclient.LoadConfig(n.Kubeconfig, n.Context)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubeclient.New(kubeconfig, "fairlead")
	if err != nil {
		return nil, nil, err
	}
	s, ok := inventory.FindSource(n.Kind)
	if !ok {
		hub, err = listPlacements(ctx, client, n)
		return nil, hub, err
	}
	clusters, _, err = ReadClusters(ctx, client, "it", s, n.Namespace)
	return clusters, nil, err
}

func readFolder(branch source.Branch, folder string) ([]inventory.Cluster, error) {
	return git.InspectTree(branch.Repo, branch.Head, func(files tree.Tree) ([]inventory.Cluster, error) {
		var all []inventory.Cluster
		for name, data := range files.Sub(path.Join(branch.Folder, folder)).All() {
			if !isYAML(name) {
				continue
			}
			clusters, problems := inventory.Read(path.Join(folder, name), data)
			if problems.Stops() {
				return nil, errors.New(problems[0].String())
			}
			all = append(all, clusters...)
		}
		return all, nil
	})
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

type clusterList struct {
	environment string
	file        string
	data        []byte
	pos         problem.Pos
	subject     string
	rules       model.ImportRules
}

// findList returns the ClusterList of an environment that has rules; nil if there is none that can be followed.
func findList(environment string, branch source.Branch, problems *problem.List) (*clusterList, error) {
	lists, err := git.InspectTree(branch.Repo, branch.Head, func(files tree.Tree) ([]*clusterList, error) {
		var lists []*clusterList
		for name, data := range files.Sub(branch.Folder).All() {
			if isYAML(name) && bytes.Contains(data, []byte(model.ImportAnnotation)) {
				lists = append(lists, &clusterList{environment: environment, file: path.Join(branch.Folder, name), data: bytes.Clone(data), pos: problem.Pos{Layer: environment, File: name}})
			}
		}
		return lists, nil
	})
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		documents, err := yamldoc.Parse(l.data)
		if err != nil { // it is a problem of the environment
			continue
		}
		root := findRoot(documents)
		if root == nil {
			continue
		}
		l.subject, l.pos.Line = "ClusterList/"+yamldoc.FindText(root, "metadata", "name"), root.Line
		rules, wrong := model.ReadImportRules(yamldoc.FindText(root, "metadata", "annotations", model.ImportAnnotation), l.pos, l.subject)
		if wrong.Stops() {
			*problems = append(*problems, wrong...)
			return nil, nil
		}
		l.rules = rules
		return l, nil
	}
	problems.Warnf(problem.Pos{Layer: environment}, "ClusterList", "write the annotation "+model.ImportAnnotation+" on one", "no ClusterList has rules for the inventories of the settings")
	return nil, nil
}

func findRoot(documents []*yaml.Node) *yaml.Node {
	for _, d := range documents {
		if root := yamldoc.RootOf(d); yamldoc.FindText(root, "kind") == "ClusterList" && yamldoc.FindValue(root, "metadata", "annotations", model.ImportAnnotation) != nil {
			return root
		}
	}
	return nil
}

// proposal is an edit, and what its pull request says. Without files it is withdrawn.
type proposal struct {
	edit                               publish.Edit
	branch, mark, title, body, trailer string
}

// newEdits returns the proposal of clusters that are new or have another type, and that of clusters that the
// inventories have lost: each can be merged without the other.
func (l *clusterList) newEdits(branch source.Branch, clusters []inventory.Cluster, problems *problem.List) ([]proposal, error) {
	var changes inventory.Changes
	follow, err := l.edit(func(root *yaml.Node) { changes = inventory.Merge(root, l.rules, clusters, false) })
	if err != nil {
		return nil, err
	}
	remove, err := l.edit(func(root *yaml.Node) { inventory.Remove(root, changes.Vanished) })
	if err != nil {
		return nil, err
	}
	if len(changes.Unknown) > 0 {
		problems.Warnf(l.pos, l.subject, "write a rule for them, or label them with "+model.ClusterTypeLabel,
			"the inventory has %s that no rule gives a type: %s", text.Count(len(changes.Unknown), "cluster"), nameClusters(changes.Unknown))
	}
	one := l.newProposal(branch, "inventory", "Fairlead-Inventory", "List the clusters of the inventory in "+l.environment)
	one.fill(l, follow, len(changes.Added)+len(changes.Moved), func(b *strings.Builder) {
		writeClusters(b, "New", changes.Added)
		writeClusters(b, "Of another type", changes.Moved)
		writeClusters(b, "Not listed, because no rule gives them a type", changes.Unknown)
	})
	other := l.newProposal(branch, "inventory-removals", "Fairlead-Inventory-Removals", "Remove clusters that the inventory has lost from "+l.environment)
	other.fill(l, remove, len(changes.Vanished), func(b *strings.Builder) {
		b.WriteString("Fairlead does not wait for these clusters any more once this is merged. Close it to keep them.\n\n")
		writeClusters(b, "Not in the inventory", changes.Vanished)
	})
	return []proposal{one, other}, nil
}

func (l *clusterList) edit(change func(root *yaml.Node)) ([]byte, error) {
	documents, err := yamldoc.Parse(l.data)
	if err != nil {
		return nil, err
	}
	change(findRoot(documents))
	return yamldoc.Encode(documents...)
}

func (l *clusterList) newProposal(branch source.Branch, folder, trailer, title string) proposal {
	return proposal{
		edit:   publish.Edit{Branch: branch.Name, Head: branch.Head, When: branch.When},
		branch: folder + "/" + l.environment, mark: folder + " of " + l.environment, title: title, trailer: trailer + ": " + l.environment,
	}
}

func (p *proposal) fill(l *clusterList, data []byte, changes int, write func(*strings.Builder)) {
	if changes == 0 {
		return
	}
	var b strings.Builder
	write(&b)
	p.body = b.String()
	p.edit.Files = map[string][]byte{l.file: data}
	p.edit.Message = p.title + "\n\n" + p.trailer + "\n"
}

// maxListed bounds the clusters that a pull request names.
const maxListed = 200

func writeClusters(b *strings.Builder, title string, all []inventory.Change) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "**%s**: %s\n\n", title, text.Count(len(all), "cluster"))
	for _, c := range all[:min(len(all), maxListed)] {
		types := strings.Join(slices.DeleteFunc([]string{c.From, c.To}, func(t string) bool { return t == "" }), " → ")
		fmt.Fprintf(b, "- `%s` %s\n", c.Cluster, types)
	}
	if len(all) > maxListed {
		fmt.Fprintf(b, "- and %d more\n", len(all)-maxListed)
	}
	b.WriteString("\n")
}

const maxNamed = 5

func nameClusters(all []inventory.Change) string {
	var names []string
	for _, c := range all[:min(len(all), maxNamed)] {
		names = append(names, c.Cluster)
	}
	if len(all) > maxNamed {
		names = append(names, fmt.Sprintf("%d more", len(all)-maxNamed))
	}
	return text.Join(names, " and ")
}

// propose opens or edits the pull request of a proposal, or withdraws it when there is nothing to propose.
func (d *Desk) propose(ctx context.Context, remote *repos.Remote, p proposal) error {
	ours := d.options.Settings.Output.BranchPrefix + p.branch
	head, err := remote.Mirror().FindBranch(ours)
	if err != nil || head == "" && p.edit.Files == nil {
		return err
	}
	f, err := remote.Forge()
	if err != nil {
		return err
	}
	o := d.options.PublishOptions(remote, f)
	if p.edit.Files == nil {
		return publish.Withdraw(ctx, o, ours, p.edit.Branch, p.trailer, "The control plane follows the inventory without it.")
	}
	_, err = p.edit.Propose(ctx, o, forge.Proposal{Mark: p.mark, Head: ours, Base: p.edit.Branch, Title: forge.FitTitle(p.title), Body: p.body})
	return err
}
