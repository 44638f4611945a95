package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// SettingsFile is the default path of the settings.
const SettingsFile = "fairlead.yaml"

// WithLocationHint adds a hint to an error that means that a repository does not exist or cannot be
// reached; it returns any other error unchanged.
func WithLocationHint(err error, hint string) error {
	if errors.Is(err, git.ErrUnreachable) || errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrAccess) {
		return &hintedError{err, hint}
	}
	return err
}

// LoadSettings reads a settings file, and prints its warnings.
func (a *App) LoadSettings(file string) (*config.Settings, error) {
	return a.readSettings(file, config.Load)
}

// LoadUserSettings is Settings for commands that work without the daemon's own secrets.
func (a *App) LoadUserSettings(file string) (*config.Settings, error) {
	return a.readSettings(file, config.LoadForPeople)
}

func (a *App) readSettings(file string, load func(string, func(string) string) (*config.Settings, problem.List, error)) (*config.Settings, error) {
	settings, problems, err := load(file, os.Getenv)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Usagef("fairlead init makes one; or say where it is with --config", "there is no settings file %s", file)
	case err != nil:
		return nil, err
	case problems.Stops():
		return nil, &SettingsError{ProblemsError{"the settings have " + display.CountProblems(problems.Count()), problems}}
	}
	fmt.Fprint(a.Err, display.FormatProblems(problems, a.Err))
	return settings, nil
}

// EnvCredentials returns the credentials for the host of the control plane. They come from the
// process environment, because other users can read command lines.
func EnvCredentials() git.Credentials {
	c := git.Credentials{Username: os.Getenv("FAIRLEAD_GIT_USERNAME"), Secret: os.Getenv("FAIRLEAD_GIT_TOKEN")}
	if c.Username == "" {
		c.Username = "x-access-token" // what GitHub calls the holder of a token; others ignore it
	}
	return c
}

// FindRepository returns the path or URL of the repository that a flag names, or else of the
// one in the current folder; of a clone, that is its origin. what describes the repository
// in hints.
func FindRepository(flag, named, what string) (string, error) {
	if named != "" {
		if giturl.IsRemote(named) {
			return named, nil
		}
		return filepath.Abs(giturl.LocalPath(named))
	}
	root, here, err := findEnclosingRepository()
	if errors.Is(err, git.ErrNotFound) {
		return "", Usagef(fmt.Sprintf("say where %s is with %s", what, flag), "there is no Git repository here")
	}
	if err != nil {
		return "", err
	}
	remotes, from := here.Remotes(), here.RemoteURL("origin")
	switch {
	case len(remotes) == 0:
		return root, nil
	case from == "" && len(remotes) == 1:
		from = remotes[0]
	case from == "":
		return "", Usagef("name one with "+flag, "the repository here has several remotes, and none is called origin")
	}
	if giturl.IsRemote(from) || filepath.IsAbs(giturl.LocalPath(from)) {
		return from, nil
	}
	return filepath.Join(root, from), nil
}

// findEnclosingRepository returns the repository that the current folder is in, and its folder.
func findEnclosingRepository() (string, *git.Repository, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", nil, err
	}
	for {
		here, err := git.Open(folder)
		if err == nil {
			return folder, here, nil
		}
		above := filepath.Dir(folder)
		if !errors.Is(err, git.ErrNotFound) || above == folder {
			return "", nil, err
		}
		folder = above
	}
}

// DefaultAuthor returns the author of commits that record what the user did, such as closing a
// pull request.
func DefaultAuthor() git.Signature {
	name := os.Getenv("GIT_AUTHOR_NAME")
	if name == "" {
		name = "somebody" // in a container the user may have no name
		if u, err := user.Current(); err == nil && u.Username != "" {
			name = u.Username
		}
	}
	email := os.Getenv("GIT_AUTHOR_EMAIL")
	if email == "" {
		email = name + "@localhost"
	}
	return git.Signature{Name: name, Email: email}
}
