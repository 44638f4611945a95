package source

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/render/clustermodule"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// readStacks reads the repositories that the stacks of an environment name, and those of the modules of
// clusters: first those of teams, which hold stacks themselves, and then those of files and modules.
func (r *reading) readStacks(ctx context.Context) error {
	if !slices.ContainsFunc(r.layers, func(l model.Layer) bool {
		found := r.source.options.Parser.Scan(r.newInput().parsedName(), l)
		return found.HasStacks || found.HasModules
	}) {
		return nil
	}
	m, _ := r.source.parseInput(r.newInput()) // rendering reports its problems
	teams := stack.FollowedTeams(m)
	if err := readEach(r, teams, func(part *reading, team *model.Team) error { return part.readTeam(ctx, team) }); err != nil {
		return err
	}
	if len(teams) > 0 {
		m, _ = r.source.parseInput(r.newInput())
	}
	return readEach(r, rootmodule.ListRepositories(m, clustermodule.ListRepositories(m)...), func(part *reading, named rootmodule.Repository) error {
		return part.readNamed(ctx, m, named)
	})
}

// readNamed reads the files and modules that stacks name of a repository. A module that cannot be
// read is a warning, since Terraform may read it all the same.
func (r *reading) readNamed(ctx context.Context, m *model.Model, named rootmodule.Repository) error {
	commit := r.at.Workloads[named.Name()]
	if !r.wantsModules(m, named, commit) {
		named.Modules = nil
	}
	required := len(named.Paths) > 0
	if !required && named.Modules == nil {
		return nil
	}
	if r.at.Recorded && required && commit == "" {
		r.addUnread(named, model.Unread{Summary: giturl.Redact(named.URL) + " could not be read when this was rendered"})
		return nil
	}
	repo, err := r.source.repositories.openRepository(ctx, named.URL, false)
	switch {
	case err != nil && (ctx.Err() != nil || panics.Is(err)):
		return err
	case err != nil && required:
		return r.reportUnreadNamed(ctx, named, err)
	case err != nil:
		r.warnUnreadModule(named, err)
		return nil
	}
	at, moves, err := resolveNamed(repo, named.Ref, commit)
	if errors.Is(err, git.ErrNoRevision) {
		reason, advice := describeMissing(repo, giturl.Redact(named.URL), cmp.Or(commit, named.Ref, stack.HeadRef))
		r.addUnread(named, model.Unread{Summary: reason, Hint: advice})
		return nil
	}
	if err != nil {
		return err
	}
	if r.at.Recorded {
		moves = r.at.Moving[named.Name()]
	}
	err = r.addNamed(repo, named, model.Layer{Kind: model.Files, Name: named.Name(), Commit: at, Moves: moves})
	if refused := (*git.InvalidTreeError)(nil); errors.As(err, &refused) {
		r.addUnread(named, describeRefused(named.URL, refused))
		return nil
	}
	return err
}

func describeRefused(url string, refused *git.InvalidTreeError) model.Unread {
	return model.Unread{Summary: giturl.Redact(url) + " cannot be read: " + refused.Error(), Hint: "remove what has such a name"}
}

// reportUnreadNamed has what names a repository that was not opened stop: stacks when they are rendered,
// and no others.
func (r *reading) reportUnreadNamed(ctx context.Context, named rootmodule.Repository, err error) error {
	if named.OfClusters != nil {
		return r.reportUnopened(ctx, named.URL, named.OfClusters, err)
	}
	shown := r.source.repositories.describeLocation(named.URL, err)
	sentence, hint, mistake := describeMistake(shown, err)
	switch {
	case mistake:
	case r.source.options.ReportUnreachable:
		sentence, hint = err.Error(), adviseUnreachable
	default:
		sentence, hint = "the repository at "+shown+" cannot be reached", adviseUnreachable
	}
	r.addUnread(named, model.Unread{Summary: sentence, Hint: hint})
	return nil
}

func (r *reading) addUnread(named rootmodule.Repository, why model.Unread) {
	if by := named.OfClusters; by != nil {
		r.problems.Addf(by.Pos, by.Subject(), why.Hint, "%s", why.Summary)
	}
	r.layers = append(r.layers, model.Layer{Kind: model.Files, Name: named.Name(), Unread: why})
}

// wantsModules reports whether the modules of a repository are read: as the settings of stacks say, and
// otherwise if it is on a server that Fairlead was told of. What was rendered without them, at commits
// that were recorded, is rendered without them.
func (r *reading) wantsModules(m *model.Model, named rootmodule.Repository, commit string) bool {
	if len(named.Modules) == 0 {
		return false
	}
	if r.at.Recorded {
		return commit != ""
	}
	if follows, decided := stack.FollowsModules(m); decided {
		return follows
	}
	if r.source.repositories.isMapped(named.URL) || r.source.repositories.isNamed(named.URL) {
		return true
	}
	if named.By.Kind == "ClusterModules" {
		r.notRead = append(r.notRead, NotRead{giturl.Redact(named.URL), "modules"})
	}
	return false
}

func (r *reading) warnUnreadModule(named rootmodule.Repository, err error) {
	shown := r.source.repositories.displayName(named.URL)
	sentence, _, mistake := describeMistake(shown, err)
	if !mistake {
		sentence = "the repository at " + shown + " cannot be reached"
	}
	r.layers = append(r.layers, model.Layer{Kind: model.Files, Name: named.Name(), UnreadModules: model.Unread{Summary: sentence, Hint: adviseUnreachable}})
	r.problems.Warnf(named.By.Pos, named.By.Subject(), "spec.follow.modules: false in the StackSettings has no modules read",
		"%s, so the variables of its modules are not checked", sentence)
}

var fullCommit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// resolveNamed returns the commit of a ref, and whether that may be another one later: it is, unless it is a
// commit, or a tag that is named as one that stays. "" is the head of the default branch. recorded is the commit
// that it had before; "" for the one that it has now.
func resolveNamed(repo *git.Repository, ref, recorded string) (commit string, moves bool, err error) {
	branch := ref
	if ref == "" {
		branch = repo.DefaultBranch()
	}
	head, err := repo.FindBranch(branch)
	if err != nil {
		return "", false, err
	}
	moves = ref == "" || head != "" || !rootmodule.IsFixedRef(ref) || !fullCommit.MatchString(ref) && !isTag(repo, ref)
	switch {
	case recorded != "":
		commit, err = repo.Resolve(recorded)
	case head != "":
		commit = head
	default:
		commit, err = repo.Resolve(branch)
	}
	return commit, moves, err
}

func isTag(repo *git.Repository, ref string) bool {
	_, err := repo.Resolve(tagPrefix + strings.TrimPrefix(ref, tagPrefix))
	return err == nil
}

func (r *reading) addNamed(repo *git.Repository, named rootmodule.Repository, layer model.Layer) error {
	files, err := r.source.readNamedFiles(repo, named, layer.Commit)
	if err != nil {
		return err
	}
	info, err := repo.Commit(layer.Commit)
	if err != nil {
		return err
	}
	layer.Modules = len(named.Modules) > 0
	for _, folder := range named.Modules {
		if by := named.OfClusters; by != nil && !rootmodule.HasModule(files, folder) {
			r.problems.Addf(by.Pos, by.Subject(), "mend module.source or module.path", "%s has no module in the folder %q at commit %s", giturl.Redact(named.URL), "/"+folder, layer.Commit)
		}
	}
	layer.Files = files
	r.commits = append(r.commits, Commit{Layer: layer.Name, Repo: giturl.Redact(named.URL), Commit: layer.Commit, When: info.When, Moves: layer.Moves && len(named.Modules) > 0, Optional: len(named.Paths) == 0})
	r.layers = append(r.layers, layer)
	return nil
}

func (s *Source) readNamedFiles(repo *git.Repository, named rootmodule.Repository, commit string) (tree.Tree, error) {
	key := commitFolder{repo: repo, commit: commit, named: strings.Join(named.Paths, "\x00") + "\x00\x00" + strings.Join(named.Modules, "\x00")}
	return s.readOnce(key, func() (tree.Tree, error) {
		all, err := repo.ReadFiles(commit, func(file string, size int64) bool { return named.WantsFile(file) && isContentWanted(file, size) })
		if err != nil {
			return tree.Tree{}, err
		}
		var b tree.Builder
		for file, e := range all.Walk() {
			if named.WantsFile(file) {
				if err := b.AddEntry(file, e); err != nil {
					return tree.Tree{}, err
				}
			}
		}
		return b.Tree(), nil
	})
}
