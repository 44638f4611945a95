package scaffold

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

//go:embed files
var files embed.FS

// environmentMark in a path makes a file for each environment.
const environmentMark = "ENVIRONMENT"

// page is the data of a file's template.
type page struct {
	Options     Options
	Daemon      Daemon
	Environment string // "" for all
}

func (p page) addFolder(b *tree.Builder, folder, prefix string) error {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if rest, ok := strings.CutPrefix(name, "dot-"); ok {
			name = "." + rest
		}
		from, to := path.Join(folder, e.Name()), path.Join(prefix, name)
		if e.IsDir() {
			err = p.addFolder(b, from, to)
		} else {
			err = p.addFile(b, from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p page) addFile(b *tree.Builder, from, to string) error {
	if !strings.Contains(to, environmentMark) {
		return p.putFile(b, from, to)
	}
	for _, env := range p.Options.Environments {
		one := p
		one.Environment = env
		if err := one.putFile(b, from, strings.ReplaceAll(to, environmentMark, env)); err != nil {
			return err
		}
	}
	return nil
}

func (p page) putFile(b *tree.Builder, from, to string) error {
	text, err := p.expandFile(from)
	if err != nil || text == "" {
		return err
	}
	return b.Add(to, []byte(text))
}

func (p page) expandFile(file string) (string, error) {
	source, err := files.ReadFile(file)
	if err != nil {
		return "", err
	}
	t, err := template.New(path.Base(file)).Delims("[[", "]]").
		Funcs(template.FuncMap{"yaml": quoteYAML, "shell": text.QuoteShell}).Parse(string(source))
	if err != nil {
		return "", fmt.Errorf("read the scaffold's %s: %w", file, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, p); err != nil {
		return "", fmt.Errorf("expand the scaffold's %s: %w", file, err)
	}
	return out.String(), nil
}

// File expands another file of files/, to share text.
func (p page) File(file string) (string, error) { return p.expandFile("files/" + file) }

func (p page) EditorSchema() string { return string(p.Options.Schema) }

// ClusterURL returns the URL for clusters to read the GitOps repository, or an example
// for a local path.
func (p page) ClusterURL() string {
	address, err := stack.RepositoryURL(p.Options.GitOps)
	if err != nil {
		return "https://git.example.com/gitops"
	}
	return address
}

func (p page) ByFolder() bool { return p.Options.Layout == Folders }

// Compared reports whether the GitOps repository has a comparing workflow.
func (p page) Compared() bool { return p.Options.canBeCompared() }

func (p page) First() bool { return p.Environment == p.Options.Environments[0] }

func (p page) FirstEnvironment() string { return p.Options.Environments[0] }

var (
	plainYAML = regexp.MustCompile(`^[A-Za-z/]([A-Za-z0-9._/@:-]*[A-Za-z0-9_/-])?$`)
	otherYAML = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

func quoteYAML(text string) string {
	if plainYAML.MatchString(text) && !slices.Contains(otherYAML, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
