// Package rootmodule generates the root module of a Terraform component of a stack: the folder that
// Terraform runs in.
//
// Its body is one call of the component's module, and so are the addresses in the state:
// module.<component>. That, and the key of the state, are CloudKnit's, so that Terraform finds what
// CloudKnit has made, and does not make it again.
//
// What the package keeps true:
//   - The files are a function of the component, the settings, and the files that it names at their
//     commits. A component whose inputs have not changed has the same bytes.
//   - What is generated can be parsed by Terraform: texts are escaped, and expressions of people are
//     parsed before they are taken over.
//   - Files of people stay within the component's folder.
package rootmodule

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// TeamSuffix and EnvSuffix end the names of the folders of root modules.
const (
	TeamSuffix = "-team-environment"
	EnvSuffix  = "-environment-component"
)

// Folder returns the folder of a component's root module, from the root of the branch that holds
// root modules. It is CloudKnit's.
func Folder(c *stack.Component) string {
	return path.Join("team", c.Stack.Team+TeamSuffix, c.Stack.Env+EnvSuffix, c.Name, "terraform")
}

// Module is the root module of a component.
type Module struct {
	Files tree.Tree
	// Backend is its backend block, alone: tofu-controller would put one of its own in its place.
	Backend string
	// State identifies the state that it leads to; "" if that is not known.
	State string
	// Fixed is true if what it consists of is the same whenever Terraform runs.
	Fixed bool
}

// Generate returns the root module of a component. After a problem it serves only to find more of
// them.
func Generate(m *model.Model, c *stack.Component, settings *stack.Settings) (Module, problem.List) {
	g := newGenerator(m, c, settings)
	module := Module{Fixed: true}
	if c.IsCopied() {
		module = g.generateCopied()
	} else {
		module = g.generateCall()
	}
	g.checkTofu()
	g.checkVersions()
	if !g.overlays[requestFile] {
		AddRequest(g.files, FindRequest(m, c.Stack.Path(), c.Name))
	}
	files, err := tree.FromFiles(g.files)
	if err != nil { // a file and a folder of one name
		g.addf(c.StackComponent.Name.Line, "", "the files of component %s: %v", c.Name, err)
	}
	module.Files = files
	return module, g.problems
}

func newGenerator(m *model.Model, c *stack.Component, settings *stack.Settings) *generator {
	return &generator{model: m, component: c, settings: settings, files: map[string][]byte{}, overlays: map[string]bool{}, origins: map[string]problem.Pos{}}
}

func (g *generator) generateCall() Module {
	c, settings := g.component, g.settings
	g.addFile("terraform.tf", g.writeTerraform)
	g.addFile("versions.tf", g.writeVersions)
	g.addFile("provider.tf", g.writeProvider)
	if len(c.Secrets) > 0 || settings.AWS.SharedProfile != "" {
		g.addFile("provider_shared.tf", g.writeSharedProvider)
	}
	g.addFile("module.tf", g.writeModule)
	if g.module != nil {
		g.found, g.foundError = readInterface(*g.module)
		g.sensitive = g.found.outputs
	}
	if len(listStates(c)) > 0 {
		g.addFile("data.tf", g.writeData)
	}
	if len(c.Outputs) > 0 {
		g.addFile("outputs.tf", g.writeOutputs)
	}
	if len(c.Secrets) > 0 {
		g.addFile("secrets.tf", g.writeSecrets)
	}
	g.addOverlays()
	if g.usesShared() {
		g.addFile("provider_shared.tf", g.writeSharedProvider)
	}
	g.checkRoot()
	g.checkModule()
	module := Module{Fixed: c.Module == nil || g.isFixed(c.Module)}
	if b, ok := g.findBackend(); ok {
		module.Backend, module.State = b.text(), b.state(c.Stack.Workspace)
	}
	return module
}

// generator writes the files of one component.
type generator struct {
	model     *model.Model
	component *stack.Component
	settings  *stack.Settings
	files     map[string][]byte
	overlays  map[string]bool // those of files that are people's
	problems  problem.List
	// module holds the files of the component's module, if they were read, and inputs what the module
	// is given; unread is true if there are inputs that could not be read.
	module *tree.Tree
	inputs []input
	unread bool
	// found is what is known of that module, foundError why it is not all, and sensitive which outputs are
	// marked as that where they are written.
	found      moduleInterface
	foundError error
	sensitive  map[string]bool
	// origins are where the files of a copied root module come from, and values the expressions of
	// the outputs that it has itself.
	origins map[string]problem.Pos
	values  map[string]hclwrite.Tokens
}

func (g *generator) addf(line int, hint, format string, args ...any) {
	s := g.component.Stack
	g.problems.Addf(s.PositionAt(line), s.Subject(), hint, format, args...)
}

func (g *generator) addFile(name string, write func(body *hclwrite.Body)) {
	f := hclwrite.NewEmptyFile()
	write(f.Body())
	g.files[name] = hclwrite.Format(f.Bytes())
}

func (g *generator) writeTerraform(body *hclwrite.Body) {
	generatedBackend(g.component, g.settings).appendTo(body.AppendNewBlock("terraform", nil).Body())
}

func (g *generator) writeVersions(body *hclwrite.Body) {
	required := body.AppendNewBlock("terraform", nil).Body().AppendNewBlock("required_providers", nil).Body()
	required.SetAttributeValue("aws", cty.ObjectVal(map[string]cty.Value{
		"source": cty.StringVal("hashicorp/aws"), "version": cty.StringVal(g.settings.AWS.Version),
	}))
}

func (g *generator) writeProvider(body *hclwrite.Body) {
	provider, region := body.AppendNewBlock("provider", []string{"aws"}).Body(), g.settings.AWS.Region
	aws := g.component.AWS
	if aws != nil && aws.Region != "" {
		region = aws.Region
	}
	provider.SetAttributeValue("region", cty.StringVal(region))
	if aws == nil || aws.AssumeRole == nil {
		return
	}
	role := provider.AppendNewBlock("assume_role", nil).Body()
	for _, a := range []struct{ name, value string }{
		{"role_arn", aws.AssumeRole.RoleARN}, {"session_name", aws.AssumeRole.SessionName}, {"external_id", aws.AssumeRole.ExternalID},
	} {
		if a.value != "" {
			role.SetAttributeValue(a.name, cty.StringVal(a.value))
		}
	}
}

// usesShared reports whether an overlay uses the provider aws.shared, which CloudKnit writes into each root
// module, and there is none.
func (g *generator) usesShared() bool {
	uses := false
	for name := range g.overlays {
		if !isModuleFile(name) {
			continue
		}
		f, err := parseFile(name, g.files[name])
		if err != nil { // checkRoot reports it
			return false
		}
		declared := declarations{}
		g.addDeclared(declared, name, f)
		if declared["provider.aws.shared"] != "" {
			return false
		}
		uses = uses || bytes.Contains(g.files[name], []byte("aws.shared"))
	}
	return uses && g.files["provider_shared.tf"] == nil
}

func (g *generator) writeSharedProvider(body *hclwrite.Body) {
	provider := body.AppendNewBlock("provider", []string{"aws"}).Body()
	provider.SetAttributeValue("alias", cty.StringVal("shared"))
	provider.SetAttributeValue("region", cty.StringVal(g.settings.AWS.Region))
	if g.settings.AWS.SharedProfile != "" {
		provider.SetAttributeValue("profile", cty.StringVal(g.settings.AWS.SharedProfile))
	}
}

func terraformNeeds(c *stack.Component) []*stack.Component {
	var all []*stack.Component
	for _, n := range c.Needs {
		if n.Type == stack.Terraform {
			all = append(all, n)
		}
	}
	return all
}

type readState struct {
	name string
	of   *stack.Component
}

func listStates(c *stack.Component) []readState {
	all := list.Convert(terraformNeeds(c), func(n *stack.Component) readState { return readState{n.Name, n} })
	for _, v := range c.Variables {
		if v.From != nil && v.From.Of != nil && !slices.Contains(all, readState{v.From.StateName(), v.From.Of}) {
			all = append(all, readState{v.From.StateName(), v.From.Of})
		}
	}
	return all
}

// writeData writes a data source for each state that the component reads. It reads the
// workspace that the state is in, which CloudKnit does not.
func (g *generator) writeData(body *hclwrite.Body) {
	for i, read := range listStates(g.component) {
		if i > 0 {
			body.AppendNewline()
		}
		from := g.backendOf(read.of)
		data := body.AppendNewBlock("data", []string{"terraform_remote_state", read.name}).Body()
		data.SetAttributeValue("backend", cty.StringVal(from.kind))
		if workspace := read.of.Stack.Workspace; workspace != "" {
			data.SetAttributeValue("workspace", cty.StringVal(workspace))
		}
		config := map[string]cty.Value{}
		for _, a := range from.attributes {
			config[a.name] = a.value
		}
		data.SetAttributeValue("config", cty.ObjectVal(config))
	}
}

func (g *generator) writeOutputs(body *hclwrite.Body) { g.appendOutputs(body, g.distinctOutputs()) }

// distinctOutputs returns the outputs of the component without those of a name that another one before has, which are
// problems already.
func (g *generator) distinctOutputs() []model.StackOutput {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(g.component.Outputs), func(o model.StackOutput) bool {
		isSeen := seen[o.Name.Text]
		seen[o.Name.Text] = true
		return isSeen
	})
}

func (g *generator) appendOutputs(body *hclwrite.Body, outputs []model.StackOutput) {
	for i, o := range outputs {
		if i > 0 {
			body.AppendNewline()
		}
		output := body.AppendNewBlock("output", []string{o.Name.Text}).Body()
		output.SetAttributeTraversal("value", traversalOf("module", g.component.Name, o.Name.Text))
		if g.isSensitive(o.Name.Text) {
			output.SetAttributeValue("sensitive", cty.True)
		}
	}
	g.writeChartValues(body)
}

// isSensitive reports whether an output of the component is a secret: the stack or the module says so, or
// it is the kubeconfig of a cluster.
func (g *generator) isSensitive(output string) bool {
	return g.sensitive[output] || g.settings.Charts.Kubeconfig.Output == g.component.Name+"."+output ||
		slices.ContainsFunc(g.component.Outputs, func(o model.StackOutput) bool { return o.Sensitive && o.Name.Text == output })
}

func (g *generator) writeSecrets(body *hclwrite.Body) {
	for i, secret := range g.component.Secrets {
		if i > 0 {
			body.AppendNewline()
		}
		data := body.AppendNewBlock("data", []string{"aws_ssm_parameter", secret.Name.Text}).Body()
		data.SetAttributeTraversal("provider", traversalOf("aws", "shared"))
		data.SetAttributeValue("name", cty.StringVal(secretPath(g.component, secret)))
	}
}

// secretPath returns the path of a secret, of which the scope says how many parts it has.
func secretPath(c *stack.Component, secret model.StackSecret) string {
	parts := []string{"", c.Stack.Company}
	switch secret.Scope.Text {
	case "org":
	case "team":
		parts = append(parts, c.Stack.Team)
	case "environment":
		parts = append(parts, c.Stack.Team, c.Stack.Env)
	default:
		parts = append(parts, c.Stack.Team, c.Stack.Env, c.Name)
	}
	return fmt.Sprintf("%s/%s", strings.Join(parts, "/"), secret.Key)
}
