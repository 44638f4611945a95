package rootmodule

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// version is a release of Terraform or of a provider.
type version [3]int

func (v version) compare(other version) int { return slices.Compare(v[:], other[:]) }

func (v version) next(part int) version {
	raised := version{}
	copy(raised[:part+1], v[:part+1])
	raised[part]++
	return raised
}

// versionRange has the releases from one on that are older than another one, without some.
type versionRange struct {
	from, before version
	without      []version
}

var allVersions = versionRange{before: version{math.MaxInt}}

// isEmpty reports whether a range has no release. Single releases that are left out matter only where one is left.
func (r versionRange) isEmpty() bool {
	return r.from.compare(r.before) >= 0 || r.before == r.from.next(2) && slices.Contains(r.without, r.from)
}

func (r versionRange) includes(other versionRange) bool {
	return r.from.compare(other.from) <= 0 && r.before.compare(other.before) >= 0
}

var constraint = regexp.MustCompile(`^\s*(=|!=|>=|<=|>|<|~>)?\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?\s*$`)

// narrow returns the part of a range that satisfies constraints as Terraform has them, and false if they cannot be read, or
// name releases before a release, which only themselves satisfy.
func (r versionRange) narrow(written string) (versionRange, bool) {
	r.without = slices.Clone(r.without)
	for part := range strings.SplitSeq(written, ",") {
		m := constraint.FindStringSubmatch(part)
		if m == nil {
			return r, false
		}
		v, last := version{}, 0
		for i, digits := range m[2:] {
			if digits != "" {
				v[i], _ = strconv.Atoi(digits)
				last = i
			}
		}
		above, below := version{}, allVersions.before
		switch m[1] {
		case "", "=":
			above, below = v, v.next(2)
		case "!=":
			r.without = append(r.without, v)
		case ">=":
			above = v
		case ">":
			above = v.next(2)
		case "<":
			below = v
		case "<=":
			below = v.next(2)
		case "~>":
			above = v
			if last > 0 {
				below = v.next(last - 1)
			}
		}
		r.from = slices.MaxFunc([]version{r.from, above}, version.compare)
		r.before = slices.MinFunc([]version{r.before, below}, version.compare)
	}
	return r, true
}

// requirement is a range of versions that a module asks for.
type requirement struct {
	subject  string // "Terraform", or the address of a provider
	versions string
	module   string // that asks for it
}

// listRequired returns what a parsed file of a module requires, the version of Terraform first, and then by the names of providers.
func listRequired(module string, f *hcl.File) (all []requirement) {
	content, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
	for _, settings := range content.Blocks {
		found, _, _ := settings.Body.PartialContent(&hcl.BodySchema{
			Attributes: []hcl.AttributeSchema{{Name: "required_version"}}, Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}},
		})
		if written := constantAttribute(found, "required_version"); written != "" {
			all = append(all, requirement{"Terraform", written, module})
		}
		for _, block := range found.Blocks {
			providers, _ := block.Body.JustAttributes()
			for _, name := range sortedKeys(providers) {
				value, diagnostics := providers[name].Expr.Value(nil)
				if written := newProviderRequirement(name, value); !diagnostics.HasErrors() && written.versions != "" {
					written.module = module
					all = append(all, written)
				}
			}
		}
	}
	return all
}

func newProviderRequirement(name string, value cty.Value) requirement {
	field := func(key string) string {
		if !value.IsWhollyKnown() || value.IsNull() || !value.Type().IsObjectType() || !value.Type().HasAttribute(key) {
			return ""
		}
		found := value.GetAttr(key)
		if found.IsNull() || found.Type() != cty.String {
			return ""
		}
		return found.AsString()
	}
	if value.IsWhollyKnown() && !value.IsNull() && value.Type() == cty.String {
		return requirement{subject: "hashicorp/" + name, versions: value.AsString()}
	}
	source := cmp.Or(field("source"), "hashicorp/"+name)
	for _, registry := range []string{"registry.terraform.io/", "registry.opentofu.org/"} {
		source = strings.TrimPrefix(source, registry)
	}
	return requirement{subject: strings.ToLower(source), versions: field("version")}
}

// listRequirements returns what a root module, the module that it calls, and the modules beside that which this calls require.
func (g *generator) listRequirements() (all []requirement) {
	for _, name := range sortedKeys(g.files) {
		if path.Dir(name) == "." && isModuleFile(name) {
			if f, err := parseFile(name, g.files[name]); err == nil { // checkRoot reports it, or Terraform
				all = append(all, listRequired("the root module", f)...)
			}
		}
	}
	if g.module == nil {
		return all
	}
	folders := []string{""}
	for i := 0; i < len(folders) && i < maxFolders; i++ {
		for _, e := range g.module.Sub(folders[i]).Entries() {
			if e.IsDir() || !isModuleFile(e.Name) || len(e.Data) > maxModuleFile {
				continue
			}
			f, err := parseFile(e.Name, e.Data)
			if err != nil { // Terraform reports it
				continue
			}
			all = append(all, listRequired(path.Join("the module", folders[i]), f)...)
			if !strings.HasSuffix(e.Name, ".tf") {
				continue
			}
			for _, source := range listSources(f) {
				folder := path.Join(folders[i], source)
				if folder != ".." && !strings.HasPrefix(folder, "../") && !slices.Contains(folders, folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	return all
}

const (
	// maxFolders bounds the modules that a module calls and whose requirements are read, and maxModuleFile their files.
	maxFolders    = 100
	maxModuleFile = 1 << 20
)

// commonVersions are the versions of Terraform and OpenTofu that runners have: from the last one under the MPL on.
var commonVersions = versionRange{from: version{1, 5, 7}, before: version{2}}

// checkVersions reports versions that modules require, and that none satisfies, so that "init" fails. What the runner has is not
// known here: a module that does not take all common versions is a warning.
func (g *generator) checkVersions() {
	ranges, earlier := map[string]versionRange{}, map[string][]string{}
	for _, r := range g.listRequirements() {
		before, known := ranges[r.subject]
		if !known {
			before = allVersions
		}
		after, readable := before.narrow(r.versions)
		if !readable {
			continue
		}
		c, line := g.component, g.component.StackComponent.Name.Line
		if c.Module != nil {
			line = c.Module.Source.Line
		}
		written := fmt.Sprintf("%q of %s", text.Shorten(r.versions, 100), r.module)
		if after.isEmpty() && !before.isEmpty() {
			hint := "take another version of the module"
			if r.subject == "hashicorp/aws" {
				hint = "take another version of the module, or change spec.aws.version of StackSettings"
			}
			g.addf(line, hint, "component %s: no version of %s satisfies %s", c.Name, r.subject, text.Join(append(earlier[r.subject], written), " and "))
		}
		ranges[r.subject], earlier[r.subject] = after, append(earlier[r.subject], written)
	}
	terraform, known := ranges["Terraform"]
	if known && !terraform.isEmpty() && !terraform.includes(commonVersions) {
		c := g.component
		g.problems.Warnf(c.Stack.PositionAt(c.StackComponent.Name.Line), c.Stack.Subject(), "run it with an image of the runner that has such a version",
			"component %s: it requires Terraform %s; the version in the pods that run it is unknown here", c.Name, text.Join(earlier["Terraform"], " and "))
	}
}
