package rootmodule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// backend is where the state of a root module is.
type backend struct {
	kind       string
	attributes []attribute
}

type attribute struct {
	name  string
	value cty.Value
}

// stateAttributes are the attributes of a backend without which nothing says where the state is.
var stateAttributes = map[string][]string{
	"s3": {"bucket", "key"}, "gcs": {"bucket"}, "azurerm": {"storage_account_name", "container_name", "key"},
}

func (b backend) find(name string) (cty.Value, bool) {
	i := slices.IndexFunc(b.attributes, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return cty.NilVal, false
	}
	return b.attributes[i].value, true
}

func (b backend) appendTo(body *hclwrite.Body) {
	block := body.AppendNewBlock("backend", []string{b.kind}).Body()
	for _, a := range b.attributes {
		block.SetAttributeValue(a.name, a.value)
	}
}

func (b backend) text() string {
	f := hclwrite.NewEmptyFile()
	b.appendTo(f.Body())
	return string(hclwrite.Format(f.Bytes()))
}

// state identifies the state that a backend leads to in a workspace: in an S3 bucket by its key, and
// elsewhere by all that is written.
func (b backend) state(workspace string) string {
	parts := []string{b.kind, workspace}
	for _, a := range b.attributes {
		if b.kind != "s3" || slices.Contains(stateAttributes[b.kind], a.name) {
			parts = append(parts, a.name+"="+string(hclwrite.TokensForValue(a.value).Bytes()))
		}
	}
	slices.Sort(parts[2:])
	return strings.Join(parts, " ")
}

// FindState returns what identifies the state that a backend block leads to in a workspace; "" if each
// cluster has one of its own.
func FindState(text, workspace string) (string, error) {
	if stack.HasSecret(text) {
		return "", fmt.Errorf("it holds a secret in clear")
	}
	f, err := parseFile("backend", []byte(text))
	if err != nil {
		return "", err
	}
	content, diagnostics := f.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "backend", LabelNames: []string{"type"}}}})
	if err := errorOf(diagnostics); err != nil {
		return "", err
	}
	if len(content.Blocks) != 1 {
		return "", fmt.Errorf("it is not one block, as backend \"s3\" { … }")
	}
	b, err := readBackend(content.Blocks[0])
	return b.sharedState(workspace), err
}

// sharedState identifies the state that a backend leads to from every cluster; "" if each has one of its own.
func (b backend) sharedState(workspace string) string {
	if b.kind == "" || b.kind == "kubernetes" || b.kind == "local" {
		return ""
	}
	return b.state(workspace)
}

// NamesState reports whether the root module of a component says itself where its state is, and not the
// StackSettings and the names of the stack and the component.
func NamesState(m *model.Model, c *stack.Component) bool {
	if c.IsCopied() || !HasOverlays(c) {
		return c.IsCopied()
	}
	g := newGenerator(m, c, nil)
	g.addOverlays()
	content := g.readOverlayBackend()
	return content.backend != nil || !content.complete
}

// HasOverlays reports whether people add files to the root module of a component.
func HasOverlays(c *stack.Component) bool { return len(c.OverlayFiles)+len(c.OverlayData) > 0 }

// findBackend returns the backend of a root module that is generated: that of an overlay if one names it, as in
// CloudKnit. It reports one with which Terraform cannot be run.
func (g *generator) findBackend() (backend, bool) {
	content := g.readOverlayBackend()
	if content.complete && content.backend == nil && !content.cloud {
		return generatedBackend(g.component, g.settings), true
	}
	return g.checkBackend(content)
}

// readOverlayBackend reads which backend the overlays name. One that cannot be parsed is not read.
func (g *generator) readOverlayBackend() *rootContent {
	content := &rootContent{complete: true}
	for _, name := range moduleFilesInOrder(g.overlays) {
		if strings.Contains(name, "/") {
			continue
		}
		f, err := parseFile(name, g.files[name])
		if err != nil {
			continue
		}
		found, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
		for _, block := range found.Blocks {
			g.readTerraformBlock(content, name, block.Body)
		}
	}
	return content
}

// backendOf returns the backend of another component. One that cannot be taken is reported for that component.
func (g *generator) backendOf(c *stack.Component) backend {
	other := newGenerator(g.model, c, g.settings)
	if c.IsCopied() {
		found, _ := other.checkBackend(other.readCopied())
		return found
	}
	other.addOverlays()
	if content := other.readOverlayBackend(); content.backend != nil {
		return *content.backend
	}
	return backend{"s3", backendAttributes(c, g.settings)}
}

func generatedBackend(c *stack.Component, settings *stack.Settings) backend {
	b := backend{"s3", append(backendAttributes(c, settings), attribute{"encrypt", cty.True})}
	if table := settings.State.LockTable; table != "" {
		b.attributes = append(b.attributes, attribute{"dynamodb_table", cty.StringVal(table)})
	}
	return b
}

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
