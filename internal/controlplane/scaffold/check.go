package scaffold

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// maxEnvironment leaves room in namespace names, <environment>-<cluster
// type>-<workload>-<target>, of at most 63 characters.
const maxEnvironment = 40

// Problems returns the problems of the options, sorted. They have no positions, and
// none is a warning.
func (o Options) Problems() problem.List {
	var l problem.List
	checkLocation(&l, "control plane", o.ControlPlane)
	checkLocation(&l, "GitOps repository", o.GitOps)
	if o.ControlPlane == o.GitOps && o.GitOps != "" {
		l.Addf(problem.Pos{}, "", "create two repositories: both have a branch for each environment",
			"the control plane and the GitOps repository are the same")
	}
	if o.Layout != Branches && o.Layout != Folders {
		l.Addf(problem.Pos{}, "", "the layouts are branches and folders", "there is no layout %d", o.Layout)
	}
	checkReconciler(&l, o.Reconciler)
	for i, env := range o.Environments {
		if slices.Contains(o.Environments[:i], env) {
			l.Addf(problem.Pos{}, "Environment/"+env, "name it once", "the environment is named twice")
			continue
		}
		checkEnvironment(&l, env)
	}
	return l.Sorted()
}

// checkLocation reports places that must not be written into widely read files.
func checkLocation(l *problem.List, what, place string) {
	switch {
	case strings.TrimSpace(place) == "":
		l.Addf(problem.Pos{}, "", "give a URL, as https://github.com/harbor-example/control-plane, or a path", "the location of the %s is missing", what)
	case strings.ContainsFunc(place, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.HasPrefix(place, "-"):
		l.Addf(problem.Pos{}, "", "", "%q cannot be the location of the %s", place, what)
	case hasCredentials(place):
		l.Addf(problem.Pos{}, "", "leave it out: git and Fairlead take credentials from their own settings",
			"the URL of the %s has a password or token in it, which would be written into files", what)
	}
}

// hasCredentials reports whether a URL has more than a user name. With http a name
// alone may be a token.
func hasCredentials(place string) bool {
	if !strings.Contains(place, "://") {
		return false
	}
	u, err := url.Parse(place)
	if err != nil {
		return strings.Contains(place, "@") // unknown user information
	}
	_, password := u.User.Password()
	return password || u.User != nil && strings.HasPrefix(u.Scheme, "http")
}

func checkEnvironment(l *problem.List, env string) {
	subject := "Environment/" + env
	switch {
	case !kubename.IsLongLabel(env):
		l.Addf(problem.Pos{}, subject, "use lower case letters, digits and '-', with a letter or digit at both ends",
			"%q cannot be the name of an environment", env)
	case len(env) > maxEnvironment:
		l.Addf(problem.Pos{}, subject, "namespace names begin with it, and have at most 63 characters",
			"the name is %d characters long, and %d is the limit", len(env), maxEnvironment)
	case env == mainBranch:
		l.Addf(problem.Pos{}, subject, "give the environment another name, as prod",
			"main is the branch that all environments share, and cannot be an environment")
	case env == "fairlead":
		l.Addf(problem.Pos{}, subject, "give the environment another name, as prod",
			"Git cannot have a branch fairlead beside fairlead/<environment>, where pull requests come from")
	default:
		if err := gitname.CheckEnvironment(env); err != nil {
			l.Addf(problem.Pos{}, subject, "give the environment another name, as prod", "%v", err)
		}
	}
}

func (o Options) canBeCompared() bool {
	return strings.HasPrefix(o.ControlPlane, "https://") || strings.HasPrefix(o.ControlPlane, "http://")
}
