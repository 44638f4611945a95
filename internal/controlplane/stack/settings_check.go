package stack

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// What services and controllers take for a name.
var (
	bucketName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{1,253}[a-zA-Z0-9]$`)
	regionName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	tableName  = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)
	profile    = regexp.MustCompile(`^[^\s\[\]"\\]+$`)
	imageName  = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

// CheckClusterSettings reports what of the settings is wrong for the clusters of an environment without stacks:
// with stacks, [ResolveSettings] does.
func CheckClusterSettings(m *model.Model) problem.List {
	var problems problem.List
	if len(m.Stacks.List) > 0 || len(m.Stacks.Settings) == 0 {
		return nil
	}
	if len(m.Stacks.Settings) > 1 {
		problems = append(problems, reportSecond(m.Stacks.Settings))
	}
	written := m.Stacks.Settings[0]
	checkManagement(written, func(hint, format string, args ...any) {
		problems.Addf(written.Pos, written.Subject(), hint, format, args...)
	})
	return problems
}

func reportSecond(all []*model.StackSettings) problem.Problem {
	return problem.Problem{
		Pos: all[1].Pos, Subject: all[1].Subject(), Hint: "remove one of them",
		Summary: fmt.Sprintf("there is another StackSettings, %s, at %s", all[0].Name, all[0].Pos),
	}
}

// checkManagement reports a management cluster of a name that no cluster can report with.
func checkManagement(s *model.StackSettings, addProblem func(hint, format string, args ...any)) {
	if err := kubename.Check(s.ManagementCluster); s.ManagementCluster != "" && err != nil {
		addProblem("write the name that the cluster reports with, as fairlead fleet lists it", "spec.managementCluster: %v", err)
	}
}

// checkSettingNames reports names in settings that the API server, AWS or a runner's pod would refuse.
func checkSettingNames(s *model.StackSettings, addProblem func(hint, format string, args ...any)) {
	if err := checkCompany(s.Company); err != nil {
		addProblem(companyHint, "spec.company: %v", err)
	}
	for _, object := range []struct{ field, name string }{
		{"runner.secret", s.Runner.Secret}, {"runner.serviceAccount", s.Runner.ServiceAccount}, {"modules.secret", s.Modules.Secret}, {"source.name", s.Source.Name},
	} {
		if err := kubename.Check(object.name); object.name != "" && err != nil {
			addProblem("", "spec.%s: %v", object.field, err)
		}
	}
	checkManagement(s, addProblem)
	if err := CheckVersions(s.AWS.Version); err != nil {
		addProblem("", "spec.aws.version: %v", err)
	}
	if name := s.Source.Namespace; name != "" && !kubename.IsDNSLabel(name) {
		addProblem("", "spec.source.namespace cannot be %q", text.Shorten(name, 100))
	}
	for _, value := range []struct {
		field, text string
		pattern     *regexp.Regexp
	}{
		{"state.bucket", s.State.Bucket, bucketName}, {"state.region", s.State.Region, regionName}, {"state.lockTable", s.State.LockTable, tableName}, {"state.profile", s.State.Profile, profile},
		{"aws.region", s.AWS.Region, regionName}, {"aws.sharedProfile", s.AWS.SharedProfile, profile}, {"runner.waitImage", s.Runner.WaitImage, imageName},
	} {
		if value.text != "" && !value.pattern.MatchString(value.text) {
			addProblem("", "spec.%s cannot be %q", value.field, text.Shorten(value.text, 100))
		}
	}
}

// versions matches what Terraform takes for a range of versions.
var versions = regexp.MustCompile(`^ *(=|!=|>|>=|<|<=|~>)? *v?[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)? *$`)

// CheckVersions returns why Terraform does not take a text as a range of versions. An empty one is all.
func CheckVersions(written string) error {
	if written == "" {
		return nil
	}
	for part := range strings.SplitSeq(written, ",") {
		if !versions.MatchString(part) {
			return fmt.Errorf("%q is no range of versions, as \">= 5.8.0, < 6.0.0\"", text.Shorten(written, 100))
		}
	}
	return nil
}

const companyHint = "it begins the names of namespaces: letters, digits and hyphens"

func checkCompany(name string) error {
	if name != "" && !kubename.IsLongLabel(strings.ToLower(name)) {
		return fmt.Errorf("the company cannot be %q", text.Shorten(name, 100))
	}
	return nil
}

func (r *resolver) checkWorkspace(s *Stack) {
	if s.Workspace != url.PathEscape(s.Workspace) {
		r.addf(s, s.Pos.Line, "letters, digits and hyphens will do", "spec.workspace cannot be %q", text.Shorten(s.Workspace, 100))
	}
}

// platformNamespaces are those that a cluster, or what applies its objects, has before any stack.
var platformNamespaces = []string{"default", "flux-system", "argocd", "fleet-local", "fleet-default", "openshift-gitops"}

// checkNamespace reports a namespace that cannot be, and one of the platform: a stack's namespace is taken
// over by Flux, and deleted with the stack.
func (r *resolver) checkNamespace(s *Stack) {
	name := s.Namespace
	_, shared := r.sharedCompany()
	switch {
	case slices.Contains(platformNamespaces, name) || strings.HasPrefix(name, "kube-") || name == FindClusterSource(r.model).Namespace:
		r.addf(s, s.EnvName.Line, "set spec.company of the StackSettings, or use another envName", "the objects of this stack would be in the namespace %s, which is the platform's and would be deleted with the stack", name)
	case !shared && checkCompany(s.Company) != nil:
		r.addf(s, s.Pos.Line, companyHint, "metadata.namespace is %q, which names the company before \"-config\": %v", text.Shorten(s.Stack.Namespace, 100), checkCompany(s.Company))
	}
}
