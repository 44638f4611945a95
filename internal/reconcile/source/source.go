// Package source finds the exact input of an environment: which commit of which
// repository each of its layers is, and the files of it.
//
// A control plane is a Git repository, local or remote, in which the environments
// name their own branch, the environment's BaseRepo names the commit of the base,
// and registrations name the repositories of workloads. Any of them can be read
// elsewhere: a repository by a map of URLs, a layer from a plain folder.
//
// What the package keeps true: an [Input] is named by commits (or folders), so that
// reading it again gives the same layers; what Flux would not load is left out; a
// mistake in the control plane (no such branch, path or repository) is a problem at
// the object that names it, and all of them are found in one run, while an
// operation that failed is an error.
package source

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/render"
)

// Options are where the control plane is, and how it is read.
type Options struct {
	// ControlPlane is a local repository or a URL; "" if all layers are folders.
	ControlPlane string
	// Base is the revision of the base; "" for what the environment's BaseRepo
	// says, and for the base's branch where there is none.
	Base string
	// BaseBranch is the branch of the base; "" for main.
	BaseBranch string
	// PreferOrigin has a branch of a clone read as origin has it, if it is behind that.
	PreferOrigin bool
	// At has the branches of the base and of environments read as they were at a time; zero for now.
	At time.Time
	// EnvironmentRevision is the revision of the environment's branch; "" for its
	// head.
	EnvironmentRevision string
	// BaseDir and EnvironmentDir are folders to read instead; Workloads are
	// folders by the name of the registration.
	BaseDir, EnvironmentDir string
	Workloads               map[string]string
	// Map has other places for repositories, by URL.
	Map map[string]string
	// CacheDir holds the mirrors of remotes.
	CacheDir string
	// Credentials returns the source of the credentials for a location on the server of the control
	// plane, and is asked for no other; of a clone that is where its origin is. nil if there are none.
	Credentials func(location string) func(context.Context) (git.Credentials, error)
	// CredentialsFor, if not "", is a location on the only server that they are shown to instead:
	// where the control plane is, was not said by who runs this.
	CredentialsFor string
	// Open returns the repository at a URL or path, as it is now; nil to open what is
	// on this machine, and to mirror the rest in CacheDir.
	Open func(ctx context.Context, place string) (*git.Repository, error)
	// Registries are asked for versions; nil if none may be.
	Registries *registry.Client
	// ReportUnreachable makes a repository that cannot be reached a problem of the object that names
	// it: for what runs once. Otherwise it is an [UnreachableError], which is tried again.
	ReportUnreachable bool
	// RenderTimeout bounds rendering one environment, once its layers were read; 0 for no
	// bound.
	RenderTimeout time.Duration
	// Rendering is how templates are expanded.
	Rendering render.Options
	// Parser is the one that the layers will be parsed with.
	Parser *model.Parser
	// Barrier keeps a panic in reading an ephemeral environment, or a repository, there.
	Barrier panics.Barrier
}

// Revisions are other commits than the control plane names; "" for those that it
// names.
type Revisions struct {
	Base, Environment string
	// Lanes are parts of the base that are read at other commits than Base.
	Lanes Lanes
	// Workloads are those of registrations, by name, and of other layers by their names.
	Workloads map[string]string
	// Recorded has repositories that are read only if they can be, as those of modules, left out
	// unless Workloads has them: what was rendered without them is rendered without them again.
	Recorded bool
	// Moving are, among the layers of Workloads that are recorded, those that were read at the head of a
	// branch: what names one of these today may be a tag.
	Moving map[string]bool
	// Ending is set for an ephemeral environment whose time is over: it is rendered without its stacks,
	// which are destroyed as those whose files are deleted.
	Ending bool
	// Kept are the states that the output of the environment names; see [output.Options].
	Kept []stack.State
}

// Input is what an environment is rendered from.
type Input struct {
	Environment string
	Layers      []model.Layer
	Commits     []Commit
	Ephemeral   *Ephemeral // nil if the environment is there to stay
}

// Commit is where a layer came from: its repository and commit, or its folder.
type Commit struct {
	Layer  string `json:"layer"` // "base", the environment, a registration, or what stacks name
	Repo   string `json:"repo,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Lanes are the commits of the parts of the base that are not of Commit, by lane.
	Lanes map[string]string `json:"lanes,omitempty"`
	// Releases are those that the environment has, by lane.
	Releases map[string]string `json:"-"`
	// Release is the name of the one that pins the layer; "" if it was read where its branch is.
	Release string    `json:"-"`
	When    time.Time `json:"-"` // it was committed
	Folder  string    `json:"folder,omitempty"`
	// Moves is true if modules are read from it that are named by a branch, and so pinned to the commit.
	Moves bool `json:"-"`
	// Optional is true if the environment could be rendered without it: only modules are read from it.
	Optional bool `json:"-"`
}

// RecordedRevisions returns the revisions that an environment was rendered from.
func RecordedRevisions(environment string, commits []Commit) Revisions {
	at := Revisions{Workloads: map[string]string{}, Recorded: true, Moving: map[string]bool{}}
	for _, c := range commits {
		switch c.Layer {
		case "base":
			at.Base = c.Commit
		case environment:
			at.Environment = c.Commit
		default:
			at.Workloads[c.Layer], at.Moving[c.Layer] = c.Commit, c.Moves
		}
	}
	return at
}

// Source reads the environments of one control plane. It may be used
// concurrently.
type Source struct {
	options      Options
	repositories repositories
	controlPlane *git.Repository // nil if all layers are folders

	mu                sync.Mutex
	environments      *environments
	ephemerals        *ephemerals
	former            formerEnvironments
	base              *Base
	current, previous folderCache // since the last Refresh, and before it
	selected          recent.Map[selectionKey, *model.Model]
}

// folderCache is the folders of commits that were read: by what they are, and the last one of each
// layer of an environment.
type folderCache struct {
	folders map[commitFolder]tree.Tree
	layers  map[string]tree.Tree
}

func newFolderCache() folderCache {
	return folderCache{map[commitFolder]tree.Tree{}, map[string]tree.Tree{}}
}

// environments are those of the base, once they were read.
type environments struct {
	found    []*model.Environment
	problems problem.List
	unread   bool // something that they may be written in could not be read
}

// commitFolder names a folder of a commit: what it holds never changes.
type commitFolder struct {
	repo        *git.Repository
	commit, sub string
	kind        model.LayerKind
	promotion   bool   // what of it has to do with promotion, and not what Flux would load
	named       string // the files and folders that stacks name, and not what Flux would load
	lanes       string // parts of it that are of other commits
}

// Open makes a Source. A remote control plane is fetched.
func Open(ctx context.Context, options Options) (*Source, error) {
	if options.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = os.TempDir()
		}
		options.CacheDir = filepath.Join(cache, "fairlead", "git")
	}
	s := &Source{options: options}
	return s, s.Refresh(ctx)
}

// Refresh has everything read as it is now. What is known of a commit stays known,
// if it was used since the last Refresh.
func (s *Source) Refresh(ctx context.Context) error {
	s.mu.Lock()
	s.environments, s.ephemerals, s.base, s.previous, s.current = nil, nil, nil, s.current, newFolderCache()
	s.selected.Rotate()
	s.mu.Unlock()
	s.options.Parser.NextGeneration()
	s.repositories.resetOptions(s.options)
	if s.options.ControlPlane == "" {
		return nil
	}
	repo, err := s.repositories.openControlPlane(ctx, s.options.ControlPlane)
	if err != nil {
		return err
	}
	s.controlPlane = repo
	s.repositories.setOwnURLs(s.options.ControlPlane, repo)
	return nil
}

// Forget has folders of commits be read, and layers be parsed, anew.
func (s *Source) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.previous, s.current = folderCache{}, newFolderCache()
	s.options.Parser.Forget()
}

func loadOnce[T any](mu *sync.Mutex, known **T, read func() (*T, error)) (*T, error) {
	mu.Lock()
	before := *known
	mu.Unlock()
	if before != nil {
		return before, nil
	}
	fresh, err := read()
	if err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	*known = fresh
	return fresh, nil
}

// environmentsFolder is where Kalypso has the environments. Flux reads it apart
// from the rest of the base.
const environmentsFolder = ".environments"

// Environments returns the environments of the control plane, sorted by name, and
// the problems of the files that they are written in: .environments of the base,
// or all of the base if there is no such folder.
func (s *Source) Environments(ctx context.Context) ([]*model.Environment, problem.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.environments != nil {
		return s.environments.found, s.environments.problems, nil
	}
	files, err := s.baseFiles()
	if err != nil {
		return nil, nil, err
	}
	layer := model.Layer{Kind: model.Base, Name: "main", Files: files.Sub(environmentsFolder), Prefix: environmentsFolder}
	if layer.Files.IsEmpty() {
		layer.Files, layer.Prefix = Filter(files), ""
	}
	found := s.options.Parser.Scan("", layer)
	slices.SortFunc(found.Environments, func(a, b *model.Environment) int { return strings.Compare(a.Name, b.Name) })
	var problems problem.List
	if layer.Prefix != "" { // the rest of the base is reported when it is read
		problems = found.Problems
	}
	for i, e := range found.Environments {
		if i > 0 && e.Name == found.Environments[i-1].Name {
			problems.Addf(e.Pos, e.Subject(), "remove one of them", "there is another Environment of this name at %s", found.Environments[i-1].Pos)
		}
	}
	s.environments = &environments{found.Environments, problems, found.Problems.Stops()}
	return found.Environments, problems, nil
}

// EnvironmentNames returns the names of the environments, sorted.
func (s *Source) EnvironmentNames(ctx context.Context) ([]string, error) {
	all, _, err := s.Environments(ctx)
	return list.Convert(all, func(e *model.Environment) string { return e.Name }), err
}

// HasUnread reports whether there may be more environments than [Source.Environments] returned: a
// file that they may be written in could not be read.
func (s *Source) HasUnread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.environments != nil && s.environments.unread
}

func (s *Source) baseFiles() (tree.Tree, error) {
	if s.options.BaseDir != "" || s.controlPlane == nil {
		return ReadFolder(s.options.BaseDir)
	}
	commit, err := s.baseCommit(s.options.Base)
	if err != nil {
		return tree.Tree{}, err
	}
	return s.controlPlane.ReadFiles(commit, isContentWanted)
}
