package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// repositories opens each repository once, however many layers are in it.
type repositories struct {
	mirrors      *repos.Mirrors
	credentials  func(location string) func(context.Context) (git.Credentials, error)
	locations    map[string]string // by normalized URL
	openLocation func(context.Context, string) (*git.Repository, error)
	barrier      panics.Barrier
	remote       bool // the control plane is on a server
	bounded      bool // folders that it names must be beside it; the caller that sets Open decides that

	mu        sync.Mutex
	opened    map[string]*opening
	ownURLs   map[string]*git.Repository // URLs that are the control plane
	anyIsOwn  *git.Repository            // a local control plane that has no URL
	server    string                     // the only one that is sent the credentials
	serverSet bool                       // it is not that of the control plane
	named     []string                   // places that who runs this has named
	folders   []string                   // the control plane's, and that it was cloned from
}

type opening struct {
	once sync.Once
	repo *git.Repository
	err  error
}

// errLocal: an object on a server names a repository of this machine. errFolder: an object in
// a folder names one that is not beside it.
var (
	errLocal  = errors.New("not a URL")
	errFolder = fmt.Errorf("not beside the control plane: %w", errLocal)
)

func (r *repositories) resetOptions(o Options) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.barrier, r.credentials, r.locations = o.Barrier, o.Credentials, map[string]string{}
	r.mirrors = &repos.Mirrors{Dir: o.CacheDir, Options: r.remoteOptions}
	r.opened, r.ownURLs, r.anyIsOwn, r.folders = map[string]*opening{}, nil, nil, nil
	r.server, r.serverSet = giturl.HTTPServer(o.ControlPlane), o.CredentialsFor != ""
	r.named = []string{o.ControlPlane}
	if r.serverSet {
		r.server, r.named = giturl.HTTPServer(o.CredentialsFor), nil
	}
	for url, place := range o.Map {
		r.locations[giturl.Normalize(url)] = place
		r.named = append(r.named, place)
	}
	r.remote, r.bounded = giturl.IsRemote(o.ControlPlane), o.Open == nil
	r.openLocation = o.Open
	if r.openLocation == nil {
		r.openLocation = r.openOrFetch
	}
}

// openControlPlane returns the control plane itself: of a local one, a folder inside
// may be named.
func (r *repositories) openControlPlane(ctx context.Context, location string) (*git.Repository, error) {
	switch {
	case r.isMapped(location):
		return r.openRepository(ctx, location, false)
	case giturl.IsRemote(location):
		return r.openLocation(ctx, location)
	}
	if repo, err := r.openLocation(ctx, location); err == nil {
		return repo, nil
	}
	return git.FindRepository(giturl.LocalPath(location))
}

// setOwnURLs notes which URLs are the control plane's: its location and its remotes. A
// local repository without remotes (or with local ones) has no URL to compare, so that every environment
// and BaseRepo that no map names is taken to be in it.
func (r *repositories) setOwnURLs(location string, repo *git.Repository) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ownURLs = map[string]*git.Repository{giturl.Normalize(location): repo}
	if giturl.IsRemote(location) {
		return
	}
	remote, urls := false, repo.Remotes()
	for _, url := range urls {
		remote = remote || giturl.IsRemote(url)
		r.ownURLs[giturl.Normalize(url)] = repo
	}
	origin := repo.RemoteURL("origin")
	if origin == "" && len(urls) == 1 {
		origin = urls[0]
	}
	r.folders = append(r.folders, repo.Location())
	if origin != "" && !giturl.IsRemote(origin) {
		r.folders = append(r.folders, absolutePath(repo.Location(), origin))
	}
	r.named = append(r.named, origin)
	if !r.serverSet {
		r.server = giturl.HTTPServer(origin)
	}
	if !remote {
		r.anyIsOwn = repo
	}
}

func (r *repositories) isMapped(url string) bool {
	_, ok := r.locations[giturl.Normalize(url)]
	return ok
}

func (r *repositories) displayName(url string) string {
	if place, ok := r.locations[giturl.Normalize(url)]; ok {
		return fmt.Sprintf("%s, which stands for %s", giturl.Redact(place), giturl.Redact(url))
	}
	return giturl.Redact(url)
}

// openRepository returns the repository at a URL or path. partOfControlPlane says that it is
// one that an environment or a BaseRepo names.
func (r *repositories) openRepository(ctx context.Context, location string, partOfControlPlane bool) (*git.Repository, error) {
	place, mapped := r.locations[giturl.Normalize(location)]
	if !mapped {
		if repo := r.controlPlane(location, partOfControlPlane); repo != nil {
			return repo, nil
		}
		place = location
		switch {
		case giturl.IsRemote(place):
		case r.remote:
			return nil, errLocal
		case r.bounded && !r.isBeside(place):
			return nil, errFolder
		}
	}
	r.mu.Lock()
	o := r.opened[place]
	if o == nil {
		o = &opening{}
		r.opened[place] = o
	}
	r.mu.Unlock()
	o.once.Do(func() {
		o.err = r.barrier.Run("open", giturl.Redact(place), func() (err error) {
			o.repo, err = r.openLocation(ctx, place)
			return err
		})
	})
	return o.repo, o.err
}

func (r *repositories) controlPlane(location string, partOfControlPlane bool) *git.Repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	if repo := r.ownURLs[giturl.Normalize(location)]; repo != nil {
		return repo
	}
	if partOfControlPlane {
		return r.anyIsOwn
	}
	return nil
}

func (r *repositories) openOrFetch(ctx context.Context, place string) (*git.Repository, error) {
	if !giturl.IsRemote(place) {
		return git.Open(giturl.LocalPath(place))
	}
	return r.mirrors.Open(ctx, place)
}

// remoteOptions returns how a remote is reached: only the hosts that who runs this has named may be
// at any address, and only one is sent the token.
func (r *repositories) remoteOptions(place string) (git.RemoteOptions, error) {
	o := git.RemoteOptions{Guard: !r.isNamed(place), IsTrusted: r.isNamed}
	if server := giturl.HTTPServer(place); r.credentials != nil && server != "" {
		shown := r.credentials(place)
		o.Credentials = func(ctx context.Context) (git.Credentials, error) {
			if server != r.server { // of a clone it is known once that is open
				return git.Credentials{}, nil
			}
			return shown(ctx)
		}
	}
	return o, nil
}

func (r *repositories) isNamed(place string) bool {
	return slices.ContainsFunc(r.named, func(url string) bool { return giturl.SameServer(url, place) })
}

// isBeside reports whether a folder of this machine is beside the control plane, or beside
// the folder that it was cloned from, or below one that is. A folder inside of a work tree
// is not: those who write the control plane can have it lead to another repository.
func (r *repositories) isBeside(place string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	folder := giturl.Identify(absolutePath(".", place))
	beside := false
	for _, named := range r.folders {
		own := giturl.Identify(absolutePath(".", named))
		parent := giturl.Identity{Path: filepath.Dir(own.Path)}
		if own.IsPrefixOf(folder) && own != folder {
			return false
		}
		beside = beside || filepath.Dir(parent.Path) != parent.Path && parent.IsPrefixOf(folder)
	}
	return beside
}

// absolutePath returns a location on this machine as an absolute path; a relative one begins
// at a folder.
func absolutePath(folder, location string) string {
	local := giturl.LocalPath(location)
	if !filepath.IsAbs(local) {
		local = filepath.Join(folder, local)
	}
	if full, err := filepath.Abs(local); err == nil {
		return full
	}
	return local
}
