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

// Bootstrap describes what a cluster applies and how it reports.
type Bootstrap struct {
	// Options without a Server means reports by commit statuses.
	Options Options
	// Repo is the URL of the GitOps repository as the cluster reaches it. Folder is the
	// environment's folder in the branch; "" for the root.
	Repo, Branch, Folder string
	// Artifact is the URL of the OCI artifact with the folder of the cluster type, tagged with the
	// environment; "" for the GitOps repository.
	Artifact string
	// Secret is the name of the Secret with the credentials to read; "" for public access.
	Secret string
	// Forge is the type of the Flux Provider for commit statuses.
	Forge string
	// Timeout limits how long a folder may take to become ready; 0 for DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is the timeout of the Kustomizations. By default kustomize-controller ends the
// health check of an old commit before it applies a new one, so a fix waits for this time. Flux
// raises a smaller timeout to leastTimeout.
const (
	DefaultTimeout = 2 * time.Minute
	leastTimeout   = 30 * time.Second
)

// TimeoutText returns the timeout as Flux writes it.
func (b Bootstrap) TimeoutText() string {
	return text.FormatDuration(cmp.Or(b.Timeout, DefaultTimeout))
}

// Kustomization applies a folder of the output.
type Kustomization struct{ Name, Path string }

// Kustomizations returns those for the cluster type and further folders.
func (b Bootstrap) Kustomizations() (all []Kustomization) {
	folders := append([]string{b.Options.ClusterType}, b.Options.Also...)
	for i, name := range b.Options.Objects() {
		all = append(all, Kustomization{name, "./" + path.Join(b.Folder, folders[i])})
	}
	return all
}

// StatusSecret returns the name of the Secret with the token for commit statuses.
func (b Bootstrap) StatusSecret() string { return b.Options.Object + "-status" }

// StatusForges are the forges on which Flux can set commit statuses.
var StatusForges = []string{"github", "gitlab", "gitea"}

// RenderBootstrap returns what a cluster with plain Flux needs to apply its folder and to report,
// or what a management cluster needs to report for it.
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

// GateCommand lets kustomize-controller cancel a health check when a new commit arrives. The gate
// exists since Flux 2.7; kustomize-controller does not start with an unknown gate.
const GateCommand = `kubectl -n flux-system patch deployment kustomize-controller --type json \
  --patch '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--feature-gates=CancelHealthCheckOnNewRevision=true"}]'`

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

// URLs that are safe in YAML and in a shell.
var (
	repoPattern     = regexp.MustCompile(`^(https?|ssh)://([A-Za-z0-9._-]+@)?[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%+-]+)+/?$`)
	scpPattern      = regexp.MustCompile(`^([A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):/?([A-Za-z0-9._~+/-]+)$`)
	artifactPattern = regexp.MustCompile(`^oci://[A-Za-z0-9.:\[\]-]+(/[a-z0-9._-]+)+$`)
)

// convertRepo converts git@host:path to ssh://git@host/path, which Flux requires.
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

// httpsOf converts an SSH URL to the HTTPS URL at the forge.
func httpsOf(repo string) string {
	u, err := url.Parse(repo)
	if err != nil || u.Scheme != "ssh" {
		return repo
	}
	return "https://" + u.Hostname() + strings.TrimSuffix(u.Path, ".git")
}
