package stack

import "strings"

// checkLiteral reports zlocals where they are not expanded: Terraform, or Flux, would take them as they are
// written.
func (r *resolver) checkLiteral(c *Component) {
	check := func(line int, field, value string) {
		for _, ref := range localRef.FindAllStringSubmatch(value, -1) {
			if ref[1] == "" {
				r.addf(c.Stack, line, "write the value that it stands for", "component %s: %s holds %s, which is not expanded there, in CloudKnit neither", c.Name, field, ref[0])
				return
			}
		}
	}
	line := c.StackComponent.Name.Line
	if m := c.Module; m != nil {
		check(m.Source.Line, "module.source", m.Source.Text)
		check(line, "module.name", m.Name)
		check(line, "module.path", m.Path)
		check(m.Version.Line, "module.version", m.Version.Text)
	}
	if a := c.AWS; a != nil {
		check(line, "aws.region", a.Region)
		if role := a.AssumeRole; role != nil {
			check(line, "aws.assumeRole", role.RoleARN+" "+role.SessionName+" "+role.ExternalID)
		}
	}
	if s := c.Source; s != nil {
		check(s.Repo.Line, "source", strings.Join([]string{s.Repo.Text, s.Path, s.Ref, s.Chart, s.Version}, " "))
	}
	for _, s := range c.Secrets {
		check(s.Name.Line, "the key of the secret "+s.Name.Text, s.Key)
	}
	for _, o := range c.OverlayData {
		if strings.HasSuffix(o.Name.Text, ".tf") {
			check(o.Name.Line, "overlayData "+o.Name.Text, o.Data.Text)
		}
	}
}
