package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// withLocationHint adds hint if a repository does not exist or is unreachable.
// [findHint] explains refused access.
func withLocationHint(err error, hint string) error {
	if errors.Is(err, git.ErrUnreachable) || errors.Is(err, git.ErrNotFound) {
		return problem.WithHint(err, hint)
	}
	return err
}

// findRepository returns the repository of a flag, or else the origin of the one here.
// what describes it in hints.
func findRepository(flag, named, what string) (string, error) {
	if named != "" {
		if giturl.IsRemote(named) {
			return named, nil
		}
		return filepath.Abs(giturl.LocalPath(named))
	}
	here, err := git.FindRepository(".")
	if errors.Is(err, git.ErrNotFound) {
		return "", usageErrorf(fmt.Sprintf("say where %s is with %s", what, flag), "there is no Git repository here")
	}
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(here.Location())
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
		return "", usageErrorf("name one with "+flag, "the repository here has several remotes, and none is called origin")
	}
	if giturl.IsRemote(from) || filepath.IsAbs(giturl.LocalPath(from)) {
		return from, nil
	}
	return filepath.Join(root, from), nil
}

func withSettingsHint(err error) error {
	const hint = "controlPlane.repo in the settings says where it is, and remotes how to get in"
	if errors.Is(err, git.ErrAccess) {
		return problem.WithHint(err, hint)
	}
	return withLocationHint(err, hint)
}

func defaultAuthor() git.Signature {
	name := os.Getenv("GIT_AUTHOR_NAME")
	if name == "" {
		name = "somebody" // containers may lack user names
		if u, err := user.Current(); err == nil && u.Username != "" {
			name = u.Username
		}
	}
	return git.Signature{Name: name, Email: cmp.Or(os.Getenv("GIT_AUTHOR_EMAIL"), name+"@localhost")}
}
