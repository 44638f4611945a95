package clusters

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

var semanticVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func (c *checker) checkProviders() {
	seen := map[string]fieldPath{}
	for i := range c.spec.Providers {
		p, path := &c.spec.Providers[i], fieldPath{"providers", i}
		what := "provider " + p.Name
		if len(p.Name) > maxProviderName {
			c.addf(path.child("name"), "shorten it: Claudie admits it, and fails later", "%s: the name is %d characters long, and %d is the limit", what, len(p.Name), maxProviderName)
		}
		c.checkWord("provider", path.child("name"), p.Name)
		c.checkTwice("provider", path.child("name"), p.Name, seen)
		ability := c.checkProviderType(what, path.child("providerType"), p.Type)
		c.checkSecret(what, path.child("secretRef"), p.SecretRef, ability.Keys...)
		c.checkTemplatesRef(what, path, p)
		c.checkInlineTemplates(what, path, p)
	}
}

func (c *checker) checkProviderType(what string, path fieldPath, name string) claudie.Ability {
	if !c.requireText(what, path, name) {
		return claudie.Ability{}
	}
	ability, known := claudie.FindAbility(name)
	types := claudie.ProviderTypes()
	switch {
	case !known:
		c.addf(path, cmp.Or(problem.DidYouMean(name, types), "the types are "+strings.Join(types, ", ")), "%s: providerType cannot be %q", what, name)
	case ability.Legacy:
		c.warnf(path, "the types are "+strings.Join(types, ", "), "%s: Claudie knows the type %s up to 0.10 only", what, name)
	}
	return ability
}

func (c *checker) checkTemplatesRef(what string, path fieldPath, p *claudie.Provider) {
	ref := p.TemplatesName()
	if p.TemplatesRef != nil && p.TemplatesRef.Name == "" {
		c.warnf(path.child("templatesRef"), "add templatesRef.name, or remove templatesRef", "%s: templatesRef has no name, so that it is %s", what, claudie.DefaultTemplates)
	}
	if ref.Name == claudie.DefaultTemplates {
		return
	}
	var known []string
	for _, t := range c.model.Clusters.Templates {
		known = append(known, t.Path())
	}
	c.checkKnown(what, path.child("templatesRef"), ref.Namespace+"/"+ref.Name, claudie.TemplateGitReferenceKind, newNames(known))
}

func (c *checker) checkInlineTemplates(what string, path fieldPath, p *claudie.Provider) {
	if p.Templates == nil {
		return
	}
	path = path.child("templates")
	if p.TemplatesRef != nil {
		c.addf(path, "keep templatesRef with a current version of Claudie, and templates with one up to 0.15", "%s has templates and templatesRef", what)
	}
	if u, err := url.Parse(p.Templates.Repository); c.requireText(what, path.child("repository"), p.Templates.Repository) && (err != nil || u.Host == "" || u.User != nil) {
		c.addf(path.child("repository"), "as https://github.com/berops/claudie-config", "%s: templates.repository is no URL without credentials", what)
	}
	c.requireText(what, path.child("path"), p.Templates.Path)
	switch tag := p.Templates.Tag; {
	case tag == "":
		c.warnf(path, "set templates.tag to a release", "%s: the templates are not pinned: machines are replaced when they change", what)
	case !semanticVersion.MatchString(tag):
		c.addf(path.child("tag"), "as v0.9.16", "%s: templates.tag cannot be %q", what, tag)
	}
}

var commitHash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func (r *resolver) checkTemplates(all []*Manifest) {
	for _, t := range r.model.Clusters.Templates {
		c := checker{resolver: r, object: &t.Composed}
		for _, m := range all {
			for i := range m.Spec.Providers {
				if ref := m.Spec.Providers[i].TemplatesName(); ref.Namespace+"/"+ref.Name == t.Path() {
					c.manifest = m // its annotations may name the Secret
				}
			}
		}
		if c.manifest == nil && t.Pos == t.InBase {
			continue
		}
		c.checkTemplate(&t.Spec)
	}
}

func (c *checker) checkTemplate(spec *claudie.TemplateSpec) {
	const what = ""
	if namespace, _, _ := strings.Cut(c.object.Path(), "/"); !kubename.IsDNSLabel(namespace) {
		c.addf(nil, nameHint, "the namespace cannot be %q", namespace)
	}
	if at := (fieldPath{"endpoint", "url"}); c.requireText(what, at, spec.Endpoint.URL) {
		u, err := url.Parse("https://" + spec.Endpoint.URL)
		switch {
		case strings.Contains(spec.Endpoint.URL, "://"):
			c.addf(at, "as github.com/berops/claudie-config", "endpoint.url has a scheme, which is in endpoint.protocol")
		case err != nil || u.Host == "" || u.User != nil:
			c.addf(at, "as github.com/berops/claudie-config", "endpoint.url is no address of a repository without credentials")
		}
	}
	if at := (fieldPath{"endpoint", "protocol"}); c.requireText(what, at, spec.Endpoint.Protocol) && spec.Endpoint.Protocol != "https" {
		c.addf(at, "write https", "endpoint.protocol cannot be %q", spec.Endpoint.Protocol)
	}
	if at := (fieldPath{"commit"}); c.requireText(what, at, spec.Commit) && !commitHash.MatchString(spec.Commit) && !semanticVersion.MatchString(spec.Commit) {
		c.warnf(at, "name a commit or a release", "commit %s may be a branch: all machines are replaced when it moves", spec.Commit)
	}
	for _, p := range []struct{ key, text string }{
		{"terraformer", spec.Paths.Terraformer}, {"playbooks", spec.Paths.Playbooks}, {"configLb", spec.Paths.ConfigLB},
		{"configK8s", spec.Paths.ConfigK8s}, {"manifestsK8s", spec.Paths.ManifestsK8s},
	} {
		c.requireText(what, fieldPath{"paths", p.key}, p.text)
	}
	if spec.Auth != nil {
		c.checkSecret(what, fieldPath{"auth", "secretRef"}, spec.Auth.SecretRef, claudie.TemplatesKey)
	}
}
