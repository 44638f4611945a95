package rootmodule

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// Repository is another repository, at a ref, that components of stacks name files or modules of.
type Repository struct {
	URL, Ref string
	// Paths are the files and folders that components name, and Modules the folders of modules.
	Paths, Modules []string
	// By is the first stack that names it, at the line where it does so, or what names it for clusters.
	By model.Object
	// OfClusters is what names it for clusters; nil if only stacks do.
	OfClusters *model.Object
}

// Name returns the name of the layer with its files.
func (r Repository) Name() string { return stack.SourceName(r.URL, r.Ref) }

// WantsFile reports whether a file is one that components name.
func (r Repository) WantsFile(file string) bool {
	named := slices.ContainsFunc(r.Paths, func(p string) bool { return p == "" || p == file || strings.HasPrefix(file, p+"/") })
	return named || isModuleFile(file) && slices.Contains(r.Modules, parentFolder(file))
}

func isModuleFile(file string) bool {
	return strings.HasSuffix(file, ".tf") || strings.HasSuffix(file, ".tf.json")
}

// HasModule reports whether a folder holds a module.
func HasModule(files tree.Tree, folder string) bool {
	return slices.ContainsFunc(files.Sub(folder).Entries(), func(e tree.Entry) bool { return !e.IsDir() && isModuleFile(e.Name) })
}

func parentFolder(file string) string { return path.Dir("/" + file)[1:] }

// ListRepositories returns the other repositories that the stacks of a model name, with those of more,
// sorted by name.
func ListRepositories(m *model.Model, more ...Repository) []Repository {
	stacks, _ := stack.Resolve(m) // rendering reports its problems
	all := repositoryList{byName: map[string]*Repository{}}
	for _, s := range stacks {
		for _, c := range s.Components {
			switch c.Type {
			case stack.Terraform:
				all.addComponent(m, c)
			case stack.ArgoCD:
				all.addApplications(m, c)
			}
		}
	}
	for _, r := range more {
		found := all.findFor(r.By, r.URL, r.Ref)
		found.OfClusters = &r.By
		found.Paths, found.Modules = append(found.Paths, r.Paths...), append(found.Modules, r.Modules...)
	}
	return all.sorted()
}

type repositoryList struct{ byName map[string]*Repository }

func (l repositoryList) addComponent(m *model.Model, c *stack.Component) {
	add := func(source, file model.Text, ref string) {
		line := lineOfFile(file, source)
		repo, at := c.Stack.FindSource(m, c.Stack.LayerAt(line), source.Text, ref)
		if repo != "" {
			r := l.find(c, repo, at, line)
			r.Paths = append(r.Paths, strings.Trim(path.Clean("/"+file.Text), "/"))
		}
	}
	if f := c.VariablesFile; f != nil {
		add(f.Source, f.Path, f.Ref)
	}
	for _, o := range c.OverlayFiles {
		for _, p := range append(o.Paths[:len(o.Paths):len(o.Paths)], o.Path) {
			if p.Text != "" {
				add(o.Source, p, o.Ref)
			}
		}
	}
	if c.Module == nil {
		return
	}
	if folder, local := c.Module.LocalFolder(); local {
		if repo, at := c.Stack.FindSource(m, LocalLayer(c), "", ""); repo != "" {
			r := l.find(c, repo, at, c.Module.Source.Line)
			r.Paths = append(r.Paths, strings.Trim(path.Clean("/"+folder), "/"))
		}
		return
	}
	g := &generator{model: m, component: c}
	git, ok := g.resolveRepository(c.Module)
	switch {
	case !ok || g.problems.Stops():
	case c.IsCopied():
		line := c.Module.Source.Line
		add(model.Text{Text: git.repo, Line: line}, model.Text{Text: git.folder, Line: line}, git.ref)
	default:
		r := l.find(c, git.repo, git.ref, c.Module.Source.Line)
		r.Modules = append(r.Modules, git.folder)
	}
}

func (l repositoryList) find(c *stack.Component, repo, ref string, line int) *Repository {
	by := c.Stack.Object
	by.Pos = c.Stack.PositionAt(line)
	return l.findFor(by, repo, ref)
}

func (l repositoryList) findFor(by model.Object, repo, ref string) *Repository {
	name := stack.SourceName(repo, ref)
	r := l.byName[name]
	if r == nil {
		r = &Repository{URL: repo, Ref: ref, By: by}
		l.byName[name] = r
	}
	if strings.HasPrefix(repo, "http") && !strings.HasPrefix(r.URL, "http") { // which takes no key
		r.URL = repo
	}
	return r
}

func (l repositoryList) sorted() []Repository {
	all := make([]Repository, 0, len(l.byName))
	for _, r := range l.byName {
		slices.Sort(r.Paths)
		slices.Sort(r.Modules)
		r.Paths, r.Modules = slices.Compact(r.Paths), slices.Compact(r.Modules)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Repository) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// gitAddress is the source of a module that Terraform reads with Git.
type gitAddress struct{ repo, folder, ref string }

// parseGitAddress returns the parts of the source of a module; false if it is not read with Git.
func parseGitAddress(source string) (gitAddress, bool) {
	address, query, _ := strings.Cut(source, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return gitAddress{}, false
	}
	var folder string
	repo, forced := strings.CutPrefix(address, "git::")
	switch {
	case bareHost.MatchString(address):
		address, folder, _ = strings.Cut(address, "//")
		parts := strings.SplitN(address, "/", 4) // host, owner, name, and a folder
		if len(parts) < 3 {
			return gitAddress{}, false
		}
		if len(parts) == 4 {
			folder = path.Join(parts[3], folder)
		}
		repo = "https://" + strings.Join(parts[:3], "/")
	case !forced:
		return gitAddress{}, false
	default:
		scheme, rest, hasScheme := strings.Cut(repo, "://")
		if !hasScheme {
			return gitAddress{}, false
		}
		rest, folder, _ = strings.Cut(rest, "//")
		repo = scheme + "://" + rest
	}
	if _, err := stack.RepositoryURL(repo); err != nil {
		return gitAddress{}, false
	}
	return gitAddress{repo, strings.Trim(path.Clean("/"+folder), "/"), parameters.Get("ref")}, true
}

// withCommit returns the source of a module that is read with Git with a commit as its ref. It drops
// depth: Terraform clones to a depth only what has a name.
func withCommit(source, commit string) string {
	address, query, _ := strings.Cut(source, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil { // it was parsed
		return source
	}
	parameters.Del("depth")
	parameters.Set("ref", commit)
	return address + "?" + parameters.Encode()
}

// InputFiles returns what identifies the files of other repositories that a component is made from.
func InputFiles(m *model.Model, c *stack.Component) []string {
	switch c.Type {
	case stack.Terraform:
	case stack.ArgoCD:
		return applicationInputs(m, c)
	default:
		return nil
	}
	own := repositoryList{byName: map[string]*Repository{}}
	own.addComponent(m, c)
	var all []string
	for _, r := range own.sorted() {
		layer, read := m.Stacks.Layers[r.Name()]
		if !read {
			continue
		}
		all = append(all, r.Name(), layer.Unread.Summary, layer.Unread.Hint)
		if layer.Moves && len(r.Modules) > 0 {
			all = append(all, layer.Commit)
		}
		for _, file := range append(r.Paths, r.Modules...) {
			if e, ok := layer.Files.Lookup(file); ok {
				all = append(all, e.ID.String())
			} else if file == "" {
				all = append(all, layer.Files.ID().String())
			}
		}
	}
	return all
}
