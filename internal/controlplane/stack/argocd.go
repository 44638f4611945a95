package stack

// checkArgoCD reports what a component cannot have that is Applications of Argo CD.
func (r *resolver) checkArgoCD(c *Component) {
	s, line := c.Stack, c.StackComponent.Name.Line
	r.refuse(c, ArgoCD, []refusedField{
		{"source", c.Source != nil}, {"variables", c.StackComponent.Variables != nil}, {"variablesFile", c.VariablesFile != nil}, {"overlayFiles", c.OverlayFiles != nil},
		{"overlayData", c.OverlayData != nil}, {"secrets", c.Secrets != nil}, {"outputs", c.Outputs != nil}, {"aws", c.AWS != nil}, {"subtype", c.Subtype.Text != ""},
	})
	if c.Module == nil {
		r.addf(s, line, "as in module: {source: https://github.com/acme/apps, path: dev/shop.yaml}", "component %s: module is required", c.Name)
	}
}

// refusedField is a field that a component of some type cannot have.
type refusedField struct {
	name  string
	isSet bool
}

// refuse reports the fields that a component of a type cannot have.
func (r *resolver) refuse(c *Component, typeName string, fields []refusedField) {
	for _, f := range fields {
		if f.isSet {
			r.addf(c.Stack, c.StackComponent.Name.Line, "remove it", "component %s: a component of type %s cannot have %s", c.Name, typeName, f.name)
		}
	}
}
