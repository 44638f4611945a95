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
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

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

// Generate returns the root module of a component. After a problem it serves only to find more of
// them.
func Generate(m *model.Model, c *stack.Component, settings *stack.Settings) (tree.Tree, problem.List) {
	g := &generator{model: m, component: c, settings: settings, files: map[string][]byte{}, overlays: map[string]bool{}}
	g.addFile("terraform.tf", g.writeTerraform)
	g.addFile("versions.tf", g.writeVersions)
	g.addFile("provider.tf", g.writeProvider)
	if len(c.Secrets) > 0 || settings.AWS.SharedProfile != "" {
		g.addFile("provider_shared.tf", g.writeSharedProvider)
	}
	g.addFile("module.tf", g.writeModule)
	if len(terraformNeeds(c)) > 0 {
		g.addFile("data.tf", g.writeData)
	}
	if len(c.Outputs) > 0 {
		g.addFile("outputs.tf", g.writeOutputs)
	}
	if len(c.Secrets) > 0 {
		g.addFile("secrets.tf", g.writeSecrets)
	}
	if request := FindRequest(m, c); request != nil {
		g.files[requestFile] = fmt.Appendf(nil, "# Planned again after %s.\n", strings.Map(keepHex, string(request.After)))
	}
	g.addOverlays()
	g.checkModule()
	files, err := tree.FromFiles(g.files)
	if err != nil { // a file and a folder of one name
		g.addf(c.StackComponent.Name.Line, "", "the files of component %s: %v", c.Name, err)
	}
	return files, g.problems
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
}

// addf adds a problem at a line of the stack's file.
func (g *generator) addf(line int, hint, format string, args ...any) {
	s := g.component.Stack
	g.problems.Addf(s.PositionAt(line), s.Subject(), hint, format, args...)
}

// addFile adds a generated file.
func (g *generator) addFile(name string, write func(body *hclwrite.Body)) {
	f := hclwrite.NewEmptyFile()
	write(f.Body())
	g.files[name] = hclwrite.Format(f.Bytes())
}

// Backend returns the backend block of a component, alone: tofu-controller would put one of its own
// in its place.
func Backend(c *stack.Component, settings *stack.Settings) string {
	f := hclwrite.NewEmptyFile()
	appendBackend(f.Body(), c, settings)
	return string(hclwrite.Format(f.Bytes()))
}

func appendBackend(body *hclwrite.Body, c *stack.Component, settings *stack.Settings) {
	backend := body.AppendNewBlock("backend", []string{"s3"}).Body()
	for _, a := range backendAttributes(c, settings) {
		backend.SetAttributeValue(a.name, a.value)
	}
	backend.SetAttributeValue("encrypt", cty.True)
	if table := settings.State.LockTable; table != "" {
		backend.SetAttributeValue("dynamodb_table", cty.StringVal(table))
	}
}

type attribute struct {
	name  string
	value cty.Value
}

// backendAttributes returns what it takes to find the state of a component.
func backendAttributes(c *stack.Component, settings *stack.Settings) []attribute {
	all := []attribute{
		{"bucket", cty.StringVal(settings.State.Bucket)},
		{"key", cty.StringVal(path.Join(c.Stack.Team, c.Stack.Env, c.Name, "terraform.tfstate"))},
		{"region", cty.StringVal(settings.State.Region)},
	}
	if settings.State.Profile != "" {
		all = append(all, attribute{"profile", cty.StringVal(settings.State.Profile)})
	}
	return all
}

func (g *generator) writeTerraform(body *hclwrite.Body) {
	appendBackend(body.AppendNewBlock("terraform", nil).Body(), g.component, g.settings)
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

// writeSharedProvider writes the provider that reads secrets.
func (g *generator) writeSharedProvider(body *hclwrite.Body) {
	provider := body.AppendNewBlock("provider", []string{"aws"}).Body()
	provider.SetAttributeValue("alias", cty.StringVal("shared"))
	provider.SetAttributeValue("region", cty.StringVal(g.settings.AWS.Region))
	if g.settings.AWS.SharedProfile != "" {
		provider.SetAttributeValue("profile", cty.StringVal(g.settings.AWS.SharedProfile))
	}
}

// terraformNeeds returns the components that a component needs and that have a state.
func terraformNeeds(c *stack.Component) []*stack.Component {
	var all []*stack.Component
	for _, n := range c.Needs {
		if n.Type == stack.Terraform {
			all = append(all, n)
		}
	}
	return all
}

// writeData writes a data source for the state of each component that this one needs. It reads the
// workspace that the state is in, which CloudKnit does not.
func (g *generator) writeData(body *hclwrite.Body) {
	for i, needed := range terraformNeeds(g.component) {
		if i > 0 {
			body.AppendNewline()
		}
		data := body.AppendNewBlock("data", []string{"terraform_remote_state", needed.Name}).Body()
		data.SetAttributeValue("backend", cty.StringVal("s3"))
		if workspace := g.component.Stack.Workspace; workspace != "" {
			data.SetAttributeValue("workspace", cty.StringVal(workspace))
		}
		config := map[string]cty.Value{}
		for _, a := range backendAttributes(needed, g.settings) {
			config[a.name] = a.value
		}
		data.SetAttributeValue("config", cty.ObjectVal(config))
	}
}

func (g *generator) writeOutputs(body *hclwrite.Body) {
	for i, o := range g.component.Outputs {
		if i > 0 {
			body.AppendNewline()
		}
		output := body.AppendNewBlock("output", []string{o.Name.Text}).Body()
		output.SetAttributeTraversal("value", traversalOf("module", g.component.Name, o.Name.Text))
		if o.Sensitive {
			output.SetAttributeValue("sensitive", cty.True)
		}
	}
	g.writeChartValues(body)
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
