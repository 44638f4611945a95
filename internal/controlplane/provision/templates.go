package provision

import (
	"maps"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// describeTemplates returns a repository and commit, with the hash if known, or the
// name of an external reference.
func describeTemplates(p *claudie.Provider, all *model.Clusters) string {
	if t := p.Templates; t != nil {
		return t.Repository + "/" + t.Path + "@" + t.Tag + describeHash(t.Repository, t.Tag, all)
	}
	ref := p.TemplatesName()
	for _, t := range all.Templates {
		if t.Name == ref.Name && t.Namespace == ref.Namespace {
			return t.Spec.Endpoint.URL + "/" + t.Spec.Paths.Terraformer + "@" + t.Spec.Commit + describeHash("https://"+t.Spec.Endpoint.URL, t.Spec.Commit, all)
		}
	}
	return describeRef(ref)
}

func describeHash(url, revision string, all *model.Clusters) string {
	hash := all.TemplateCommits[model.TemplatesLayer(url, revision)]
	if hash == "" || hash == revision {
		return ""
	}
	return " (" + hash + ")"
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// splitTemplates splits the result of [describeTemplates]; hash may be "".
func splitTemplates(text string) (place, revision, hash string) {
	text, hash, _ = strings.Cut(strings.TrimSuffix(text, ")"), " (")
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text, "", ""
	}
	place, revision = text[:at], text[at+1:]
	if hash == "" && hashPattern.MatchString(revision) {
		hash = revision
	}
	return place, revision, hash
}

// AddTemplateHashes adds hashes to the lock of an older version. find returns "" for an
// unknown hash.
func (s *State) AddTemplateHashes(all *model.Clusters, find func(url, revision string) string) {
	s.Templates = maps.Clone(s.Templates)
	for i := range s.Spec.Providers {
		p := &s.Spec.Providers[i]
		place, revision, hash := splitTemplates(s.Templates[p.Name])
		if revision == "" || hash != "" {
			continue
		}
		url := findTemplatesURL(p, place, all)
		if url == "" {
			continue
		}
		hash = find(url, revision)
		if hash != "" {
			s.Templates[p.Name] += " (" + hash + ")"
		}
	}
}

func findTemplatesURL(p *claudie.Provider, place string, all *model.Clusters) string {
	if p.Templates != nil {
		return p.Templates.Repository
	}
	for _, t := range all.Templates {
		if t.Spec.Endpoint.URL+"/"+t.Spec.Paths.Terraformer == place {
			return "https://" + t.Spec.Endpoint.URL
		}
	}
	return ""
}

func equalTemplates(a, b string) bool {
	if a == b {
		return true
	}
	placeA, revisionA, hashA := splitTemplates(a)
	placeB, revisionB, hashB := splitTemplates(b)
	if hashA != "" && hashB != "" {
		return placeA == placeB && hashA == hashB
	}
	return placeA == placeB && revisionA == revisionB
}
