package connect

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Bootstrap says what a cluster applies, and how it reports that.
type Bootstrap struct {
	// Options has the cluster, its environment and its type, and the name of the objects. Where Server is
	// "", the cluster reports by commit statuses.
	Options Options
	// Repo is the URL of the GitOps repository as the cluster reaches it, and Folder that of the
	// environment in its branch, "" for the whole.
	Repo, Branch, Folder string
	// Artifact is the URL of the OCI artifact with the folder of the cluster type, tagged with the name of
	// the environment; "" if the cluster reads the GitOps repository.
	Artifact string
	// Secret is the name of the Secret that opens the repository or the artifact; "" if all may read it.
	Secret string
	// Forge is the type of Flux's Provider that sets commit statuses.
	Forge string
	// Timeout is how long everything in a folder may take to become ready; 0 for DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is the timeout of the Kustomizations. By default kustomize-controller ends the health check of an old
// commit before it applies a new one, so a fix waits for this time. A timeout below leastTimeout counts as that.
const (
	DefaultTimeout = 2 * time.Minute
	leastTimeout   = 30 * time.Second
)

// TimeoutText returns the timeout as Flux writes it.
func (b Bootstrap) TimeoutText() string {
	return text.FormatDuration(cmp.Or(b.Timeout, DefaultTimeout))
}

// Kustomization is one that applies a folder of the output.
type Kustomization struct{ Name, Path string }

// Kustomizations returns what applies the folder of the cluster type, and further ones.
func (b Bootstrap) Kustomizations() (all []Kustomization) {
	folders := append([]string{b.Options.ClusterType}, b.Options.Also...)
	for i, name := range b.Options.Objects() {
		all = append(all, Kustomization{name, "./" + path.Join(b.Folder, folders[i])})
	}
	return all
}

// StatusSecret returns the name of the Secret whose token sets commit statuses.
func (b Bootstrap) StatusSecret() string { return b.Options.Object + "-status" }

// StatusForges are the forges whose commit statuses Flux sets.
var StatusForges = []string{"github", "gitlab", "gitea"}

// RenderBootstrap returns what a cluster needs, that has Flux and nothing else, to apply the folder of its
// cluster type and to report. If a management cluster applies the folder to it, that is what the management
// cluster needs to report for it.
func RenderBootstrap(b Bootstrap) (Connection, error) {
	fail := func(err error) (Connection, error) {
		return Connection{}, fmt.Errorf("bootstrap cluster %s: %w", b.Options.Cluster, err)
	}
	var err error
	if b.Artifact == "" {
		b.Repo, err = convertRepo(b.Repo)
	} else if !artifactPattern.MatchString(b.Artifact) {
		err = fmt.Errorf("%q is no artifact such as oci://registry.example.com/fleet/large", b.Artifact)
	}
	if err := errors.Join(err, b.check()); err != nil {
		return fail(err)
	}
	c := Connection{Way: "bootstrap"}
	if b.Options.Namespace == "" {
		c.Manifests, err = expandFile("bootstrap.yaml", b)
		if err != nil {
			return fail(err)
		}
		c.Manifests, c.Gate = append(c.Manifests, "---\n"...), GateCommand
		if b.Secret != "" {
			c.Commands = append(c.Commands, b.secretCommand())
		}
	}
	var reports []byte
	if b.Options.Server != "" {
		flux, err := Render(Flux, b.Options)
		if err != nil {
			return Connection{}, err
		}
		reports, c.Commands = flux.Manifests, append(c.Commands, flux.Commands...)
	} else {
		b.Repo = httpsOf(b.Repo)
		reports, err = expandFile("statuses.yaml", b)
		c.Commands = append(c.Commands, fmt.Sprintf(`kubectl -n %s create secret generic %s --from-literal=token="$STATUS_TOKEN"`, b.Options.FluxNamespace(), b.StatusSecret()))
	}
	c.Manifests = slices.Concat(c.Manifests, reports)
	return c, err
}

// GateCommand has kustomize-controller end the health check of an old commit when a new one arrives. Flux knows the gate
// since 2.7; kustomize-controller does not start with a gate that it does not know.
const GateCommand = `kubectl -n flux-system patch deployment kustomize-controller --type json \
  --patch '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--feature-gates=CancelHealthCheckOnNewRevision=true"}]'`

// secretCommand returns the command that stores what opens the repository or the artifact.
func (b Bootstrap) secretCommand() string {
	create := func(kind, rest string) string {
		return fmt.Sprintf("kubectl -n flux-system create secret %s %s \\\n  %s", kind, b.Secret, rest)
	}
	u, err := url.Parse(b.Repo)
	switch {
	case b.Artifact != "":
		registry, _, _ := strings.Cut(strings.TrimPrefix(b.Artifact, "oci://"), "/")
		return create("docker-registry", `--docker-server=`+registry+` --docker-username="$READ_USER" --docker-password="$READ_TOKEN"`)
	case err == nil && u.Scheme == "ssh":
		keyscan := "ssh-keyscan "
		if u.Port() != "" {
			keyscan += "-p " + u.Port() + " "
		}
		return create("generic", `--from-file=identity="$READ_KEY" --from-literal=known_hosts="$(`+keyscan+u.Hostname()+`)"`)
	}
	return create("generic", `--from-literal=username=git --from-literal=password="$READ_TOKEN"`)
}

// check returns why nothing can be rendered, but for the URLs.
func (b Bootstrap) check() error {
	errs := []error{gitname.CheckBranch(b.Branch), kubename.Check(b.StatusSecret())}
	if b.Folder != "" {
		errs = append(errs, gitname.CheckFolder(b.Folder))
	}
	for _, name := range slices.Concat([]string{b.Options.Environment, b.Options.ClusterType, b.Options.FluxNamespace()}, b.Options.Also, b.Options.Objects()) {
		errs = append(errs, kubename.Check(name))
	}
	if len(b.Options.Also) > 0 && b.Artifact != "" {
		errs = append(errs, errors.New("an artifact has the folder of the cluster type alone"))
	}
	if b.Timeout != 0 && b.Timeout < leastTimeout {
		errs = append(errs, fmt.Errorf("the timeout is %s, and Flux waits for %s at least", text.FormatDuration(b.Timeout), text.FormatDuration(leastTimeout)))
	}
	if b.Secret != "" {
		errs = append(errs, kubename.Check(b.Secret))
	}
	if b.Options.Server == "" && (b.Artifact != "" || !slices.Contains(StatusForges, b.Forge)) {
		errs = append(errs, errors.New("a cluster reports by events, or by commit statuses of GitHub, GitLab or Gitea"))
	}
	return errors.Join(errs...)
}

// Patterns of URLs that are safe in YAML and in a shell.
var (
	repoPattern     = regexp.MustCompile(`^(https?|ssh)://([A-Za-z0-9._-]+@)?[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%+-]+)+/?$`)
	scpPattern      = regexp.MustCompile(`^([A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):/?([A-Za-z0-9._~+/-]+)$`)
	artifactPattern = regexp.MustCompile(`^oci://[A-Za-z0-9.:\[\]-]+(/[a-z0-9._-]+)+$`)
)

// convertRepo returns the URL of a repository as Flux takes it: git@host:path is ssh://git@host/path.
func convertRepo(repo string) (string, error) {
	if m := scpPattern.FindStringSubmatch(repo); m != nil && !strings.Contains(repo, "://") {
		user := m[1]
		if user == "" {
			user = "git@"
		}
		repo = "ssh://" + user + m[2] + "/" + m[3]
	}
	u, err := url.Parse(repo)
	if err != nil || !repoPattern.MatchString(repo) || u.Scheme != "ssh" && u.User != nil {
		return "", errors.New("the GitOps repository has no URL that a cluster can read, such as https://github.com/acme/gitops")
	}
	return repo, nil
}

// httpsOf returns the URL of a repository at its forge.
func httpsOf(repo string) string {
	u, err := url.Parse(repo)
	if err != nil || u.Scheme != "ssh" {
		return repo
	}
	return "https://" + u.Hostname() + strings.TrimSuffix(u.Path, ".git")
}
