package stack

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Settings are what all stacks of an environment have in common, with defaults filled in.
type Settings struct {
	State  model.StackState
	AWS    model.StackAWS
	Runner model.StackRunner
	// Modules is the branch that holds the generated root modules, as clusters read it.
	Modules model.StackModules
	// Source is the GitRepository of the cluster for the output, and Folder the folder of the output
	// in it, as "./" or "./folder/".
	Source   model.StackSource
	Folder   string
	Interval time.Duration
	Follow   model.StackFollow
	// Applications is how clusters and repositories are reached that Applications of Argo CD name.
	Applications model.StackApplications
	// Charts is how the charts of components are installed.
	Charts model.StackCharts
	// PlanWebhook is the URL at which tofu-controller asks before it applies a plan; "" for none.
	PlanWebhook string
}

// The defaults of settings.
const (
	defaultInterval   = 10 * time.Minute
	defaultSource     = "fleet"
	defaultNamespace  = "flux-system"
	defaultRegion     = "us-east-1"
	defaultAWSVersion = ">= 5.8.0" // without an upper bound, as CloudKnit: the modules have theirs
	minInterval       = time.Minute
)

// ResolveSettings returns the settings for the stacks of a model.
func ResolveSettings(m *model.Model) (*Settings, problem.List) {
	var problems problem.List
	switch len(m.Stacks.Settings) {
	case 0:
		first := m.Stacks.List[0]
		problems.Addf(first.Pos, first.Subject(), "add one: fairlead schema StackSettings shows what it may hold",
			"there is no StackSettings, so it is not known where Terraform keeps its state")
		return &Settings{}, problems
	case 1:
	default:
		problems = append(problems, reportSecond(m.Stacks.Settings))
	}
	written := m.Stacks.Settings[0]
	s := &Settings{
		State: written.State, Runner: written.Runner, Modules: written.Modules, Interval: cmp.Or(written.Interval, defaultInterval),
		Source: FindClusterSource(m),
		AWS:    model.StackAWS{Region: cmp.Or(written.AWS.Region, defaultRegion), Version: cmp.Or(written.AWS.Version, defaultAWSVersion), SharedProfile: written.AWS.SharedProfile},
		Folder: OutputFolder(m), Follow: written.Follow,
		Applications: written.Applications, Charts: written.Charts,
	}
	addProblem := func(hint, format string, args ...any) {
		problems.Addf(written.Pos, written.Subject(), hint, format, args...)
	}
	if s.State.Bucket == "" || s.State.Region == "" {
		addProblem("", "spec.state has no bucket, or no region")
	}
	checkApplications(written, addProblem)
	checkCharts(written, addProblem)
	checkSettingNames(written, addProblem)
	s.PlanWebhook = ResolvePlanWebhook(m, addProblem)
	if s.Interval < minInterval {
		addProblem("every component makes a plan at that interval", "spec.interval is %s, and %s is the least", s.Interval, minInterval)
	}
	s.Modules = resolveModules(m, s.Modules, addProblem)
	return s, problems
}

// ResolvePlanWebhook returns the URL at which tofu-controller asks before it applies a plan of an
// environment; "" for none. Problems are added by addProblem.
func ResolvePlanWebhook(m *model.Model, addProblem func(hint, format string, args ...any)) string {
	if len(m.Stacks.Settings) == 0 {
		return ""
	}
	webhook := m.Stacks.Settings[0].Plans.Webhook
	if u, err := url.Parse(webhook); webhook != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
		addProblem("write it as http://fairlead.fairlead.svc:8080/webhooks/plans, as clusters reach the daemon", "spec.plans.webhook is not a URL of http or https without a password")
	}
	return webhook
}

// ResolveModules returns the branch that holds the root modules of an environment, as clusters read it:
// that of the StackSettings, if there is one. Problems are added by addProblem.
func ResolveModules(m *model.Model, addProblem func(hint, format string, args ...any)) model.StackModules {
	var written model.StackModules
	if len(m.Stacks.Settings) > 0 {
		written = m.Stacks.Settings[0].Modules
	}
	return resolveModules(m, written, addProblem)
}

func resolveModules(m *model.Model, modules model.StackModules, addProblem func(hint, format string, args ...any)) model.StackModules {
	if out := m.OutputRepo(); out != nil {
		modules.Repo = cmp.Or(modules.Repo, out.Repo)
		_, unreadable := RepositoryURL(out.Repo) // a path: clusters have another name for it
		if unreadable == nil && !sameRepository(modules.Repo, out.Repo) {
			addProblem("name the repository of the GitOpsRepo, "+out.Repo+", or leave spec.modules.repo out", "spec.modules.repo: root modules in a repository of their own are not supported yet")
		}
		if modules.Branch == out.Branch {
			addProblem("name another one", "spec.modules.branch is the branch of the output")
		}
	}
	address, err := RepositoryURL(modules.Repo)
	if err != nil && modules.Repo != "" {
		addProblem("set spec.modules.repo of the StackSettings", "clusters cannot read the root modules: %v", err)
	}
	modules.Repo = address
	modules.Branch = cmp.Or(modules.Branch, "fairlead-modules-"+m.Environment)
	if err := gitname.CheckBranch(modules.Branch); err != nil {
		addProblem(gitname.BranchHint, "spec.modules.branch: %v", err)
	} else if strings.Contains(modules.Branch, "/") {
		addProblem("use hyphens", "spec.modules.branch is %s: its name is a part of the names of plans, which have no slash", modules.Branch)
	}
	return modules
}

// FindClusterSource returns the GitRepository by which clusters read the output of an environment: that
// of the StackSettings, or the one that bootstrapping makes.
func FindClusterSource(m *model.Model) model.StackSource {
	var written model.StackSource
	if len(m.Stacks.Settings) > 0 {
		written = m.Stacks.Settings[0].Source
	}
	return model.StackSource{Name: cmp.Or(written.Name, defaultSource), Namespace: cmp.Or(written.Namespace, defaultNamespace)}
}

// OutputFolder returns the folder of the output in its branch, as "./" or "./folder/".
func OutputFolder(m *model.Model) string {
	out := m.OutputRepo()
	if out == nil {
		return "./"
	}
	folder := strings.Trim(path.Clean("/"+out.Path), "/")
	if folder == "" {
		return "./"
	}
	return "./" + folder + "/"
}

// scpLike matches user@host:path, as ssh users write it.
var scpLike = regexp.MustCompile(`^([^@/\s]+@[^:/\s]+):([^/].*|/.*)$`)

// RepositoryURL returns the URL of a repository as Flux takes it: over http, https or ssh.
func RepositoryURL(location string) (string, error) {
	location = strings.TrimSpace(location)
	if found := scpLike.FindStringSubmatch(location); found != nil && !strings.Contains(location, "://") {
		return "ssh://" + found[1] + "/" + strings.TrimPrefix(found[2], "/"), nil
	}
	u, err := url.Parse(location)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ssh":
		return "", fmt.Errorf("repositories are read over http, https and ssh, and %q is none of these", location)
	case u.User != nil && u.Scheme != "ssh":
		return "", fmt.Errorf("the URL has a user or a password, which would be published")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("the URL has a query or a fragment, which may hold a token and would be published")
	}
	return location, nil
}

// PublicURL returns the URL of a repository that is read without credentials. Flux has no other way
// over ssh than with a key.
func PublicURL(location string) (string, error) {
	address, err := RepositoryURL(location)
	u, ok := strings.CutPrefix(address, "ssh://")
	if !ok {
		return address, err
	}
	_, u, _ = strings.Cut(u, "@")
	return "https://" + u, nil
}
