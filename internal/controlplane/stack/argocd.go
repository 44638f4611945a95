package stack

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// checkApplications reports clusters and repositories of Applications that name nothing, and Secrets that
// cannot be.
func checkApplications(s *model.StackSettings, report func(hint, format string, args ...any)) {
	checkSecret := func(field string, i int, secret string) {
		if err := kubename.Check(secret); err != nil {
			report("", "spec.applications.%s[%d].secret: %v", field, i, err)
		}
	}
	for i, c := range s.Applications.Clusters {
		checkSecret("clusters", i, c.Secret)
		if (c.Name == "") == (c.Server == "") {
			report("write the one that Applications have in spec.destination", "spec.applications.clusters[%d] has a name or a server, and one of them", i)
		}
		if c.Key != "" && !kubename.IsDataKey(c.Key) {
			report("", "spec.applications.clusters[%d].key cannot be %q", i, text.Shorten(c.Key, 100))
		}
	}
	for i, r := range s.Applications.Repositories {
		checkSecret("repositories", i, r.Secret)
		if _, err := RepositoryURL(r.URL); err != nil && !strings.HasPrefix(r.URL, "oci://") {
			report("", "spec.applications.repositories[%d].url: %s", i, text.CleanLine(err.Error()))
		}
	}
}

func (r *resolver) checkArgoCD(c *Component) {
	s, line := c.Stack, c.StackComponent.Name.Line
	r.refuse(c, ArgoCD, []refusedField{
		{"source", c.Source != nil}, {"variables", c.StackComponent.Variables != nil}, {"variablesFile", c.VariablesFile != nil}, {"overlayFiles", c.OverlayFiles != nil},
		{"overlayData", c.OverlayData != nil}, {"secrets", c.Secrets != nil}, {"outputs", c.Outputs != nil}, {"aws", c.AWS != nil}, {"subtype", c.Subtype.Text != ""},
	})
	if c.Module == nil {
		r.addf(s, line, "as in module: {source: https://github.com/acme/apps, path: dev/shop.yaml}", "component %s: module is required", c.Name)
	} else if c.Module.Name != "" && c.Module.Source.Text != "aws" {
		r.warnf(s, c.Module.Source.Line, "name a file or a folder in module.path", "component %s: module.name has no effect", c.Name)
	}
}

// refusedField is a field that a component of some type cannot have.
type refusedField struct {
	name  string
	isSet bool
}

func (r *resolver) refuse(c *Component, typeName string, fields []refusedField) {
	for _, f := range fields {
		if f.isSet {
			r.addf(c.Stack, c.StackComponent.Name.Line, "remove it", "component %s: a component of type %s cannot have %s", c.Name, typeName, f.name)
		}
	}
}
