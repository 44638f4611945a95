// Package connect renders the objects and commands that a cluster needs to apply its output and to
// report.
//
// Rendered text contains no key, so it may be in Git. Names and addresses cannot change its
// structure. The agent is the kustomization in deploy/agent with another name and server.
package connect

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/deploy"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

//go:embed files
var files embed.FS

// Way is a way for a cluster to report.
type Way string

// The ways to report.
const (
	Flux   Way = "flux"   // events of Flux
	ArgoCD Way = "argocd" // notifications of Argo CD
	Agent  Way = "agent"
)

// Options describes the reporting cluster and the server.
type Options struct {
	Cluster string
	Server  string
	// Object is the Kustomization or Application that applies the output. An agent needs none of
	// these.
	Environment, ClusterType string
	// Also has further folders to apply, each with its own Kustomization.
	Also   []string
	Object string
	// Namespace is that of the Kustomization on a management cluster, if one applies the output.
	Namespace string
	Image     string
	// TokenCommand prints the key of the cluster.
	TokenCommand string
}

// FluxNamespace returns the namespace of Flux's objects.
func (o Options) FluxNamespace() string { return cmp.Or(o.Namespace, "flux-system") }

// ReportName returns the name of the reporting Flux objects. A management cluster has several.
func (o Options) ReportName() string {
	if o.Namespace == "" {
		return "fairlead"
	}
	return o.Object
}

const defaultObject = "fleet"

// AlertName returns a name for the Alert that is unique per object.
func (o Options) AlertName() string {
	if o.Namespace != "" || o.Object == defaultObject {
		return o.ReportName()
	}
	return o.ReportName() + "-" + o.Object
}

// Objects returns the names of the Kustomizations that apply the output.
func (o Options) Objects() []string {
	all := []string{o.Object}
	for _, folder := range o.Also {
		all = append(all, o.Object+"-"+folder)
	}
	return all
}

// Connection is what a cluster needs to report in one way.
type Connection struct {
	Way Way
	// Manifests are YAML documents without keys.
	Manifests []byte
	// Commands are run once in the cluster's context, after applying Manifests.
	Commands []string
	// Gate is for clusters with Flux 2.7 or newer: see [GateCommand]. "" for none.
	Gate string
}

// File returns a file name for the manifests.
func (c Connection) File() string { return string(c.Way) + ".yaml" }

// Render returns what a cluster needs to report in a way.
func Render(way Way, o Options) (Connection, error) {
	o.Server = strings.TrimRight(o.Server, "/")
	if err := o.check(way); err != nil {
		return Connection{}, fmt.Errorf("connect cluster %s: %w", o.Cluster, err)
	}
	text, err := expandFile(string(way)+".yaml", o)
	if err != nil {
		return Connection{}, fmt.Errorf("connect cluster %s: %w", o.Cluster, err)
	}
	c := Connection{Way: way, Manifests: text}
	print := fmt.Sprintf("printf %%s \"$(%s)\" |\n", o.TokenCommand)
	switch way {
	case Flux:
		c.Commands = []string{print + fmt.Sprintf("  kubectl -n %s create secret generic %s --from-file=token=/dev/stdin", o.FluxNamespace(), o.ReportName())}
	case Agent:
		c.Manifests, err = o.buildAgent(text)
		c.Commands = []string{print + "  kubectl -n fairlead-agent create secret generic fairlead-agent --from-file=key=/dev/stdin"}
	case ArgoCD:
		c.Commands = []string{
			"kubectl -n argocd patch secret argocd-notifications-secret --type merge \\\n" +
				fmt.Sprintf(`  --patch "{\"stringData\": {\"fairlead-key\": \"$(%s)\"}}"`, o.TokenCommand),
			"kubectl -n argocd annotate application " + o.Object + ` notifications.argoproj.io/subscribe.fairlead.fairlead=""`,
		}
	}
	return c, err
}

func (o Options) check(way Way) error {
	errs := []error{ledger.CheckClusterName(o.Cluster), CheckServer(o.Server)}
	if way == Agent {
		_, err := deploy.ParseImage(o.Image)
		return errors.Join(append(errs, err)...)
	}
	for _, name := range append([]string{o.Environment, o.ClusterType, o.FluxNamespace(), o.AlertName()}, o.Objects()...) {
		errs = append(errs, kubename.Check(name))
	}
	return errors.Join(errs...)
}

// CheckServer checks the URL of a Fairlead.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !serverPattern.MatchString(server) {
		return fmt.Errorf("%q is no URL such as https://fairlead.example.com", server)
	}
	return nil
}

// serverPattern excludes characters that end a word in YAML, Argo CD templates or a shell.
var serverPattern = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`)

// ImageParts returns the parts of the agent's image.
func (o Options) ImageParts() deploy.Image {
	image, _ := deploy.ParseImage(o.Image)
	return image
}

func expandFile(name string, data any) ([]byte, error) {
	source, err := files.ReadFile("files/" + name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"yaml": quoteName, "json": quoteJSON}).Parse(string(source))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	err = t.Execute(&out, data)
	return []byte(out.String()), err
}

// namePattern matches plain YAML strings, except the words in quoteName.
var namePattern = regexp.MustCompile(`^(\./)?[a-z][a-z0-9./-]*[a-z0-9]$`)

func quoteName(name string) string {
	switch name {
	case "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(name)
	}
	if namePattern.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

func quoteJSON(text string) (string, error) {
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

func (o Options) buildAgent(kustomization []byte) ([]byte, error) {
	base, err := deploy.Agent()
	if err != nil {
		return nil, err
	}
	return deploy.Build(base, kustomization)
}
