// Package connect renders what a cluster needs to apply its output and to report what it runs: the
// objects that it applies, and the commands that give it its keys.
//
// What the package keeps true: no key is in what is rendered, so that all of it may lie in Git; names
// and addresses are checked before they become part of a text, and cannot change its structure; the
// agent is the kustomization in deploy/agent, and what it is called and reports to is all that differs.
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

	"github.com/fairlead-io/fairlead/deploy/agent"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

//go:embed files
var files embed.FS

// Way is a way for a cluster to report.
type Way string

// The ways.
const (
	Flux   Way = "flux"   // by the events of Flux
	ArgoCD Way = "argocd" // by the notifications of Argo CD
	Agent  Way = "agent"  // by the agent
)

// Options says which cluster reports, and to where.
type Options struct {
	Cluster string
	// Server is the URL of Fairlead.
	Server string
	// Environment and ClusterType are those of the cluster, and Object is the name of the
	// Kustomization or Application that applies the output there. An agent finds them by itself.
	Environment, ClusterType string
	// Also are further folders of the output that the cluster applies, each by a Kustomization of its own.
	Also   []string
	Object string
	// Namespace is that of the Kustomization on a management cluster that applies the output to the cluster;
	// "" if the cluster applies it itself.
	Namespace string
	Image     string // of the agent
	// TokenCommand prints the key of the cluster.
	TokenCommand string
}

// FluxNamespace returns the namespace of Flux's objects.
func (o Options) FluxNamespace() string { return cmp.Or(o.Namespace, "flux-system") }

// ReportName returns the name of the objects of Flux that report: a management cluster has those of many
// clusters.
func (o Options) ReportName() string {
	if o.Namespace == "" {
		return "fairlead"
	}
	return o.Object
}

// defaultObject is the name of what applies the output if nobody has given another one.
const defaultObject = "fleet"

// AlertName returns the name of the Alert. It is another one for each object, so that no Alert takes the place of another.
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
	// Manifests are YAML documents, without any key.
	Manifests []byte
	// Commands are to be typed once with the context of the cluster, after Manifests were applied.
	Commands []string
	// Gate is a command for clusters with Flux 2.7 or newer: see [GateCommand]. "" for none.
	Gate string
}

// File returns the name of the file for the manifests.
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

// check returns why nothing can be rendered.
func (o Options) check(way Way) error {
	errs := []error{ledger.CheckClusterName(o.Cluster), CheckServer(o.Server)}
	if way == Agent {
		return errors.Join(append(errs, checkImage(o.Image))...)
	}
	for _, name := range append([]string{o.Environment, o.ClusterType, o.FluxNamespace(), o.AlertName()}, o.Objects()...) {
		errs = append(errs, kubename.Check(name))
	}
	return errors.Join(errs...)
}

// CheckServer returns why a text is not the URL of a Fairlead.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !serverPattern.MatchString(server) {
		return fmt.Errorf("%q is no URL such as https://fairlead.example.com", server)
	}
	return nil
}

// serverPattern leaves out what ends a word in YAML, in a template of Argo CD or in a shell.
var serverPattern = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`)

var imagePattern = regexp.MustCompile(`^([a-z0-9][A-Za-z0-9._/:-]*?)(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`)

func checkImage(image string) error {
	if !imagePattern.MatchString(image) {
		return fmt.Errorf("%q is no image such as registry.example.com/fairlead-agent:v1.0.0", image)
	}
	return nil
}

// ImageName returns the name of the agent's image, without tag and digest.
func (o Options) ImageName() string { return imagePattern.FindStringSubmatch(o.Image)[1] }

// ImageTag returns the tag of the agent's image; "" if it has none.
func (o Options) ImageTag() string { return imagePattern.FindStringSubmatch(o.Image)[2] }

// ImageDigest returns the digest of the agent's image; "" if it has none.
func (o Options) ImageDigest() string { return imagePattern.FindStringSubmatch(o.Image)[3] }

// expandFile returns a file of files/, with what differs from cluster to cluster.
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

// namePattern matches names and paths that YAML reads as text without quotes, but for those in the list
// below.
var namePattern = regexp.MustCompile(`^(\./)?[a-z][a-z0-9./-]*[a-z0-9]$`)

// quoteName returns a name as a YAML scalar, in quotes where it would not be read as text without them.
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

// buildAgent returns the objects of a kustomization whose base is that of the agent.
func (o Options) buildAgent(kustomization []byte) ([]byte, error) {
	base, err := agent.Files()
	if err != nil {
		return nil, err
	}
	objects, problems := kustomize.Build(tree.FromEntries([]tree.Entry{tree.Dir("base", base), tree.File("kustomization.yaml", kustomization)}), "")
	if p, stops := problems.FirstStopping(); stops {
		return nil, errors.New(p.String())
	}
	var all []byte
	for i, object := range objects {
		if i > 0 {
			all = append(all, "---\n"...)
		}
		all = append(all, object.YAML...)
	}
	return all, nil
}
