package rootmodule

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

var (
	// registrySource matches the address of a module in a registry, as "terraform-aws-modules/vpc/aws".
	registrySource = regexp.MustCompile(`^([0-9A-Za-z.-]+(:\d+)?/)?[0-9A-Za-z][0-9A-Za-z_-]*/[0-9A-Za-z][0-9A-Za-z_-]*/[0-9a-z]+$`)
	// archive matches the URL of a file that Terraform unpacks, and does not clone.
	archive     = regexp.MustCompile(`\.(zip|tar|tgz|tbz2|txz|tar\.(gz|bz2|xz))$`)
	forcedFetch = regexp.MustCompile(`^[a-z0-9]+::`)
	bareHost    = regexp.MustCompile(`^(github\.com|gitlab\.com|bitbucket\.org)/`)
	exactRef    = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._/+-]*$`)
	// publicName matches the name of a module that a source "aws" has.
	publicName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`)
)

const publicModules = "https://github.com/terraform-aws-modules/terraform-aws-%s.git"

// exactVersion matches one version, and no range of them.
var exactVersion = regexp.MustCompile(`^=?\s*v?[0-9]+\.[0-9]+\.[0-9]+$`)

// fixedRef matches what a tag or a commit is named, and hardly a branch: a version with all its numbers, as v1.4 or
// net-1.4.0, the full digits of a commit, or the full name of a tag. A tag as v1 is moved to each new v1.N.
var fixedRef = regexp.MustCompile(`^(refs/tags/.+|[0-9a-f]{40}|[0-9a-f]{64}|([0-9A-Za-z._/-]*[/-])?(v[0-9]+\.[0-9]+|v?[0-9]+(\.[0-9]+){2,3}([-+][0-9A-Za-z.+-]+)?))$`)

// branchRef matches what a branch is named, whatever version is in the name.
var branchRef = regexp.MustCompile(`^((refs/)?(heads|remotes)/|(branch|bugfix|feature|hotfix|releases?|stable|support)[/-])`)

// IsFixedRef reports whether a ref is named as one that stays where it is.
func IsFixedRef(ref string) bool { return fixedRef.MatchString(ref) && !branchRef.MatchString(ref) }

// IsVersioned reports whether a module is named with its version: one without, or at a branch, may be
// another one whenever Terraform runs.
func IsVersioned(m *model.StackModule) bool {
	address, query, _ := strings.Cut(strings.TrimSpace(m.Source.Text), "?")
	if registrySource.MatchString(address) && !bareHost.MatchString(address) {
		return exactVersion.MatchString(m.Version.Text)
	}
	parameters, err := url.ParseQuery(query)
	return err == nil && IsFixedRef(parameters.Get("ref")) || IsFixedRef(m.Version.Text) || archive.MatchString(address)
}

// resolveSource returns the source of a module as Terraform takes it, and the version, which only
// modules of a registry have. A folder stands before the ref, which CloudKnit gets wrong.
func (g *generator) resolveSource(m *model.StackModule) (source, version string) {
	name, line := g.component.Name, m.Source.Line
	address := strings.TrimSpace(m.Source.Text)
	if address == "aws" {
		switch {
		case m.Name == "":
			g.addf(line, "as in name: vpc", "component %s: module.name is required with source: aws", name)
		case !publicName.MatchString(m.Name):
			g.addf(line, "as in name: vpc", "component %s: module.name cannot be %q", name, text.Shorten(m.Name, 100))
		}
		address = fmt.Sprintf(publicModules, m.Name)
	}
	folder := strings.Trim(m.Path, "/")
	switch {
	case isOutside(folder) || strings.ContainsAny(folder, "?#"):
		g.addf(line, "it is a folder of the module's repository, as modules/vpc", "component %s: module.path cannot be %q", name, text.Shorten(m.Path, 100))
		return "", ""
	case address == "":
		g.addf(cmp.Or(line, g.component.StackComponent.Name.Line), "", "component %s: module.source is required", name)
		return "", ""
	case strings.HasPrefix(address, ".") || strings.HasPrefix(address, "/"):
		g.addf(line, "name a repository, or a folder of the stack's own as ./modules/vpc", "component %s: module.source cannot be %q", name, address)
		return "", ""
	case registrySource.MatchString(address) && !bareHost.MatchString(address):
		if err := stack.CheckVersions(m.Version.Text); err != nil {
			g.addf(m.Version.Line, "", "component %s: module.version: %v", name, err)
		}
		return withFolder(address, folder), m.Version.Text
	}
	address, query, _ := strings.Cut(address, "?")
	address, err := fetchAddress(address)
	if err != nil {
		g.addf(line, "", "component %s: module.source: %v", name, err)
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		g.addf(line, "", "component %s: module.source: %v", name, err)
	}
	if wanted := m.Version.Text; wanted != "" {
		query = g.useVersionAsRef(m, parameters)
	}
	if folder != "" && strings.Contains(strings.ReplaceAll(address, "://", ""), "//") {
		g.addf(line, "remove one of them", "component %s: module.source names a folder, and module.path another one", name)
	}
	address = withFolder(address, folder)
	if query != "" {
		address += "?" + query
	}
	return address, ""
}

// useVersionAsRef returns the query of a source with the version of the module as its ref: Terraform
// knows versions of modules in registries only.
func (g *generator) useVersionAsRef(m *model.StackModule, parameters url.Values) string {
	name, wanted := g.component.Name, m.Version
	s := g.component.Stack
	switch {
	case parameters.Get("ref") != "":
		g.addf(wanted.Line, "remove module.version", "component %s: module.source has a ref, and module.version is %s", name, wanted.Text)
	case !exactRef.MatchString(wanted.Text):
		g.addf(wanted.Line, "name one tag", "component %s: a module that is read with Git has tags, and no range of versions: %s", name, wanted.Text)
	default:
		g.problems.Warnf(s.PositionAt(wanted.Line), s.Subject(), "write ?ref="+wanted.Text+" behind module.source", "component %s: module.version is taken for a tag; CloudKnit fails with a version of a module that is read with Git", name)
		parameters.Set("ref", wanted.Text)
	}
	return parameters.Encode()
}

func isOutside(folder string) bool {
	clean := path.Clean("./" + folder)
	return clean != "." && tree.CheckPath(clean) != nil
}

func withFolder(address, folder string) string {
	if folder == "" {
		return address
	}
	return address + "//" + folder
}

// fetchAddress returns an address with the way to fetch it, where Terraform would not see it.
func fetchAddress(address string) (string, error) {
	if forcedFetch.MatchString(address) {
		return address, checkForced(address)
	}
	if bareHost.MatchString(address) {
		return address, nil
	}
	repository, folder := splitFolder(address)
	if archive.MatchString(repository) {
		return address, nil
	}
	found, err := stack.RepositoryURL(repository)
	if err != nil && !strings.Contains(address, "://") {
		err = errors.New("it is neither a module of a registry nor a repository")
	}
	if err != nil {
		return address, err
	}
	return "git::" + found + folder, nil
}

// splitFolder returns an address without the folder in what it leads to, and that with the "//" before it; "" for
// none.
func splitFolder(address string) (repository, folder string) {
	begin := 0 // of what is a URL without its scheme
	if scheme := strings.Index(address, "://"); scheme >= 0 {
		begin = scheme + len("://")
	}
	if i := strings.Index(address[begin:], "//"); i >= 0 {
		return address[:begin+i], address[begin+i:]
	}
	return address, ""
}

// checkForced reports an address with a way to fetch it that is none of Terraform's, or with which Git would run a
// program, or read this machine.
func checkForced(address string) error {
	way, rest, _ := strings.Cut(address, "::")
	rest, _ = splitFolder(rest)
	switch way {
	case "git", "hg":
		_, err := stack.RepositoryURL(rest)
		return err
	case "gcs", "http", "https", "s3":
		if u, err := url.Parse(rest); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			return nil
		}
	}
	return fmt.Errorf("no way of Terraform fetches a module from %q", text.Shorten(address, 100))
}

// syntaxError is a mistake in HCL, at a line of its text.
type syntaxError struct {
	line    int
	summary string
}

func (e *syntaxError) Error() string { return e.summary }

func errorOf(diagnostics hcl.Diagnostics) error {
	for _, d := range diagnostics {
		if d.Severity == hcl.DiagError {
			e := &syntaxError{summary: strings.TrimSuffix(d.Summary, ".")}
			if d.Subject != nil {
				e.line = d.Subject.Start.Line
			}
			return e
		}
	}
	return nil
}

// lineOf returns the line of a mistake in HCL; 0 if it is not known.
func lineOf(err error) int {
	if found := (*syntaxError)(nil); errors.As(err, &found) {
		return found.line
	}
	return 0
}
