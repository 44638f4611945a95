package stack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

func (r *resolver) checkComponent(c *Component) {
	s, line := c.Stack, c.StackComponent.Type.Line
	for _, v := range c.Variables {
		if v.From != nil && v.From.Stack == "" {
			r.checkOutputRef(c, v.From)
		}
	}
	r.checkClear(c)
	r.checkLiteral(c)
	switch c.Type {
	case Terraform:
		r.checkTerraform(c)
	case Helm:
		r.checkHelm(c)
	case ArgoCD:
		r.checkArgoCD(c)
	case "": // it is missing, or was reported
	default:
		r.addf(s, line, problem.DidYouMean(c.Type, []string{Terraform, Helm, ArgoCD}), "component %s: the type cannot be %q; it is terraform, helm or argocd", c.Name, c.Type)
	}
}

// reservedOutputs begins the names of outputs that are added to a root module.
const reservedOutputs = "fairlead_"

// identifier is a name that Terraform takes for a variable or an output.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

// secretScopes are where a secret may be kept, from the widest on.
var secretScopes = []string{"org", "team", "environment", "component"}

func (r *resolver) checkTerraform(c *Component) {
	s, line := c.Stack, c.StackComponent.Name.Line
	switch subtype := c.Subtype.Text; subtype {
	case "", generatedSubtype:
	case copiedSubtype:
		r.checkCopied(c)
	default:
		r.addf(s, c.Subtype.Line, cmp.Or(problem.DidYouMean(subtype, []string{copiedSubtype}), "remove it, and the root module is generated, as CloudKnit does"),
			"component %s: subtype cannot be %q; it is %s, or not there", c.Name, subtype, copiedSubtype)
	}
	if c.Source != nil {
		r.addf(s, c.Source.Repo.Line, "name the module in module.source", "component %s: source is for components of type helm", c.Name)
	}
	if c.Module == nil {
		r.addf(s, line, "", "component %s: module is required", c.Name)
	}
	names := map[string]string{}
	for _, v := range c.Variables {
		r.checkIdentifier(c, v.Line, "variable", v.Name)
		names[v.Name] = "variables"
	}
	for _, secret := range c.Secrets {
		r.checkIdentifier(c, secret.Name.Line, "secret", secret.Name.Text)
		if where, twice := names[secret.Name.Text]; twice {
			r.addf(s, secret.Name.Line, "remove one of them", "component %s: %s is in secrets, and in %s too", c.Name, secret.Name.Text, where)
		}
		names[secret.Name.Text] = "secrets"
		if scope := secret.Scope.Text; scope != "" && !slices.Contains(secretScopes, scope) {
			r.addf(s, secret.Scope.Line, "it is org, team, environment or component", "component %s: the scope of the secret %s cannot be %q", c.Name, secret.Name.Text, scope)
		}
		if s.Company == "" && !c.IsCopied() {
			r.addf(s, secret.Name.Line, "write spec.company in StackSettings", "component %s has a secret, and the name of the company, where its path begins, is not known", c.Name)
		}
	}
	outputs := map[string]bool{}
	for _, o := range c.Outputs {
		r.checkIdentifier(c, o.Name.Line, "output", o.Name.Text)
		if strings.HasPrefix(o.Name.Text, reservedOutputs) {
			r.addf(s, o.Name.Line, "give it another name", "component %s: the name of the output %s begins with %s, as those that Fairlead adds for charts", c.Name, o.Name.Text, reservedOutputs)
		}
		if outputs[o.Name.Text] {
			r.addf(s, o.Name.Line, "remove one of them", "component %s has the output %s twice", c.Name, o.Name.Text)
		}
		outputs[o.Name.Text] = true
	}
}

func (r *resolver) checkCopied(c *Component) {
	for _, ignored := range []struct {
		field string
		has   bool
	}{{"variables", c.StackComponent.Variables != nil}, {"variablesFile", c.VariablesFile != nil}, {"secrets", c.Secrets != nil}, {"aws", c.AWS != nil}} {
		if ignored.has {
			r.warnf(c.Stack, c.StackComponent.Name.Line, "write it in the root module", "component %s: %s has no effect with subtype %s, in CloudKnit neither", c.Name, ignored.field, copiedSubtype)
		}
	}
}

func (r *resolver) checkIdentifier(c *Component, line int, what, name string) {
	if !c.Stack.isMissing(name, line) && !identifier.MatchString(name) {
		r.addf(c.Stack, line, "it is letters, digits, '_' and '-', and begins with a letter", "component %s: the name of the %s cannot be %q", c.Name, what, name)
	}
}

// CommitID matches a ref of the repository of a chart that is a commit, and VersionTag one that is a tag: any other
// without refs/ is a branch.
var (
	CommitID   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	VersionTag = regexp.MustCompile(`^v?[0-9]+\.[0-9]+`)
)

// DefaultBranch is the branch of a repository of charts that is named without a ref.
const DefaultBranch = "main"

func (r *resolver) checkHelm(c *Component) {
	s, line := c.Stack, c.StackComponent.Name.Line
	r.refuse(c, Helm, []refusedField{
		{"module", c.Module != nil}, {"variablesFile", c.VariablesFile != nil}, {"overlayFiles", c.OverlayFiles != nil}, {"overlayData", c.OverlayData != nil},
		{"secrets", c.Secrets != nil}, {"outputs", c.Outputs != nil}, {"aws", c.AWS != nil}, {"subtype", c.Subtype.Text != ""},
	})
	if c.Source == nil {
		r.addf(s, line, "as in source: {repo: https://github.com/helm/examples, path: charts/hello-world}", "component %s: source is required", c.Name)
		return
	}
	if (c.Source.Path == "") == (c.Source.Chart == "") {
		r.addf(s, c.Source.Repo.Line, "path is a folder of a Git repository, chart is the name of a chart in a chart repository", "component %s: source has a path or a chart, and one of them", c.Name)
	}
	for _, v := range c.Variables {
		if keys := SplitValueName(v.Name); slices.Contains(keys, "") || strings.ContainsAny(v.Name, "[]") {
			r.addf(s, v.Line, `it is a key of the values, or keys with dots between them; a dot in a key is written "\."; a list can only be an output of a component`, "component %s: the variable of a chart cannot be named %q", c.Name, text.Shorten(v.Name, 100))
		}
	}
	hint := ""
	switch ref := c.Source.Ref; {
	case c.Source.Path == "":
	case ref == "":
		hint = "source is read without credentials, and without a ref from the branch " + DefaultBranch
	case !strings.HasPrefix(ref, "refs/") && !CommitID.MatchString(ref) && !VersionTag.MatchString(ref):
		hint = "a ref that is no commit and no version, as v1.2, is a branch; write refs/tags/NAME for another tag"
	}
	r.checkCluster(c, hint)
}

// SplitValueName returns the keys that the name of a chart's variable is made of. A backslash keeps a dot in
// its key, as Helm's --set has it.
func SplitValueName(name string) []string {
	const kept = "\x00"
	keys := strings.Split(strings.ReplaceAll(name, `\.`, kept), ".")
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], kept, ".")
	}
	return keys
}
