package docstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// standIns are the programs that a page about GitHub calls and that no test has. The test's own
// program runs under their names, and has [githubWorld] do what they do. What a stand-in does not
// know fails the test.
var standIns = []string{"gh", "kind", "flux", "kubectl"}

// standInVariable names the environment variable with the address of the world.
const standInVariable = "DOCSTEST_STAND_INS"

// standInCall is one call of a stand-in.
type standInCall struct {
	Program        string
	Args           []string
	Stdin          string
	Origin, Branch string // of the clone that it is called in
}

// runStandIn runs the test's program as one of the stand-ins, and returns its exit code.
func runStandIn(program string, args []string) int {
	call := standInCall{Program: program, Args: args}
	if slices.Contains(args, "-") {
		stdin, err := io.ReadAll(os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		call.Stdin = string(stdin)
	}
	if program == "gh" {
		call.Origin, call.Branch = askGit("remote", "get-url", "origin"), askGit("rev-parse", "--abbrev-ref", "HEAD")
	}
	body, err := json.Marshal(call)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer, err := http.Post(os.Getenv(standInVariable), "application/json", bytes.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer answer.Body.Close()
	_, _ = io.Copy(os.Stdout, answer.Body)
	if answer.StatusCode != http.StatusOK {
		return 1
	}
	if program == "gh" && len(args) > 2 && args[0] == "repo" && args[1] == "clone" {
		clone := exec.Command("git", "clone", "--quiet", "https://github.com/"+args[2])
		clone.Stdout, clone.Stderr = os.Stdout, os.Stderr
		if clone.Run() != nil {
			return 1
		}
	}
	return 0
}

// askGit returns what git prints, in a clone; "" elsewhere.
func askGit(args ...string) string {
	out, _ := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out))
}

func (w *githubWorld) serveStandIns(rw http.ResponseWriter, req *http.Request) {
	var call standInCall
	if err := json.NewDecoder(req.Body).Decode(&call); err != nil {
		w.Error(err)
	}
	output, err := w.runCall(call)
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		output = fmt.Sprintf("%s: %v\n", call.Program, err)
	}
	_, _ = io.WriteString(rw, output)
}

// options are the arguments of a call: those with a name, and the others.
type options struct {
	named map[string][]string
	words []string
}

// readOptions reads arguments. switches are names without a value.
func readOptions(args []string, switches ...string) options {
	o := options{named: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		name, isName := strings.CutPrefix(args[i], "--")
		value, hasValue := "", false
		if isName {
			name, value, hasValue = strings.Cut(name, "=")
		}
		switch {
		case !isName:
			o.words = append(o.words, args[i])
			continue
		case !hasValue && !slices.Contains(switches, name) && i+1 < len(args):
			i++
			value = args[i]
		}
		o.named[name] = append(o.named[name], value)
	}
	return o
}

// value returns the value of an option; "" if it is not given.
func (o options) value(name string) string {
	return strings.Join(o.named[name], ",")
}

// runCall does what a program does, and returns what it prints.
func (w *githubWorld) runCall(c standInCall) (string, error) {
	o := readOptions(c.Args, "private", "merge", "fill", "comments", "yes", "all-namespaces", "watch")
	command := c.Program
	for _, word := range o.words[:min(2, len(o.words))] {
		command += " " + word
	}
	rest := o.words[min(2, len(o.words)):]
	switch command {
	case "gh repo create":
		w.fake.Git.RequirePassword(rest[0], readerToken)
		return w.fake.Create(rest[0]) + "\n", nil
	case "gh repo clone":
		return "", nil // the stand-in runs git
	case "gh repo delete":
		if !isDir(w.fake.Git.Dir(rest[0])) {
			return "", fmt.Errorf("there is no repository %s", rest[0])
		}
		return "", nil
	case "gh pr list", "gh pr view", "gh pr create", "gh pr merge":
		return w.runPullCommand(command, c, o, rest)
	case "kind create cluster":
		return "", w.clusters.create("kind-" + o.value("name"))
	case "kind delete clusters":
		return "", w.clusters.remove(rest)
	case "flux install":
		return "", w.clusters.installFlux(o.value("context"))
	case "flux get kustomizations":
		return w.clusters.listKustomizations(o.value("context"))
	case "kubectl create secret":
		return "", w.clusters.createSecret(o.value("context"), o.value("namespace"), rest, o.named["from-literal"])
	case "kubectl apply -f":
		return "", w.applyManifests(o.value("context"), c.Stdin)
	}
	w.Errorf("the stand-in of %s does not know %q", c.Program, c.Args)
	return "", errors.New("unknown command")
}

// hubPull is a pull request as GitHub's API shows it.
type hubPull struct {
	Number      int
	Title, Body string
	Head, Base  struct{ Ref string }
}

// runPullCommand runs "gh pr …".
func (w *githubWorld) runPullCommand(command string, c standInCall, o options, words []string) (string, error) {
	repo := o.value("repo")
	if repo == "" {
		repo = strings.TrimSuffix(strings.TrimPrefix(c.Origin, "https://github.com/"), ".git")
	}
	if command == "gh pr create" {
		number := w.fake.Propose(repo, githubfake.Proposed{Head: c.Branch, Base: o.value("base"), Title: c.Branch})
		dir := w.fake.Git.Dir(repo)
		gittest.Git(w.T, dir, "update-ref", fmt.Sprintf("refs/pull/%d/head", number), "refs/heads/"+c.Branch) // as GitHub does
		return fmt.Sprintf("https://github.com/%s/pull/%d\n", repo, number), nil
	}
	open, err := w.openPulls(repo)
	if err != nil {
		return "", err
	}
	if command == "gh pr list" {
		var b strings.Builder
		for _, p := range open {
			fmt.Fprintf(&b, "%d\t%s\t%s\n", p.Number, p.Title, p.Head.Ref)
		}
		return b.String(), nil
	}
	i := slices.IndexFunc(open, func(p hubPull) bool { return p.Head.Ref == words[0] })
	if i < 0 {
		return "", fmt.Errorf("no pull requests found for branch %q", words[0])
	}
	if command == "gh pr merge" {
		w.fake.Merge(repo, open[i].Number, false)
		return "", w.clusters.reconcile(w, open[i].Base.Ref)
	}
	text := open[i].Title + "\n" + open[i].Body + "\n"
	if _, ok := o.named["comments"]; ok {
		text += strings.Join(w.fake.Comments(repo, open[i].Number), "\n") + "\n"
	}
	return text, nil
}

func (w *githubWorld) openPulls(repo string) (open []hubPull, err error) {
	req, err := http.NewRequest(http.MethodGet, w.fake.API()+"/repos/"+repo+"/pulls?"+url.Values{"state": {"open"}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+readerToken)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", repo, answer.Status)
	}
	return open, json.NewDecoder(answer.Body).Decode(&open)
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// cluster is a Kubernetes cluster of the reader.
type cluster struct {
	hasFlux      bool
	secrets      map[string]map[string]string // in flux-system
	repo, branch string                       // what its GitRepository reads; "" before it has one
	folder       string                       // what its Kustomization applies
}

// clusters are the reader's clusters, by their contexts.
type clusters struct {
	mu        sync.Mutex
	byContext map[string]*cluster
}

func (c *clusters) create(context string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byContext == nil {
		c.byContext = map[string]*cluster{}
	}
	if c.byContext[context] != nil {
		return fmt.Errorf("there is a cluster %s already", context)
	}
	c.byContext[context] = &cluster{secrets: map[string]map[string]string{}}
	return nil
}

func (c *clusters) remove(names []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.byContext["kind-"+name] == nil {
			return fmt.Errorf("there is no cluster %s", name)
		}
		delete(c.byContext, "kind-"+name)
	}
	return nil
}

// withCluster runs do with a cluster.
func (c *clusters) withCluster(context string, do func(*cluster) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byContext[context] == nil {
		return fmt.Errorf("there is no cluster %q", context)
	}
	return do(c.byContext[context])
}

func (c *clusters) installFlux(context string) error {
	return c.withCluster(context, func(k *cluster) error {
		k.hasFlux = true
		return nil
	})
}

func (c *clusters) createSecret(context, namespace string, words, literals []string) error {
	return c.withCluster(context, func(k *cluster) error {
		if namespace != "flux-system" || !k.hasFlux || len(words) != 2 || words[0] != "generic" {
			return fmt.Errorf("there is no namespace %q for secret %q", namespace, words)
		}
		secret := map[string]string{}
		for _, literal := range literals {
			name, value, _ := strings.Cut(literal, "=")
			if value == "" {
				return fmt.Errorf("the %s of secret %s is empty", name, words[1])
			}
			secret[name] = value
		}
		k.secrets[words[1]] = secret
		return nil
	})
}

// listKustomizations returns the table of flux, of the one Kustomization that the stand-in applies.
func (c *clusters) listKustomizations(context string) (text string, err error) {
	err = c.withCluster(context, func(k *cluster) error {
		if k.branch == "" {
			return errors.New("no Kustomization objects found in \"flux-system\" namespace")
		}
		text = "NAMESPACE\tNAME\tREADY\nflux-system\tfleet\tTrue\n"
		return nil
	})
	return text, err
}

// fluxObject is what the stand-in reads of an object of Flux.
type fluxObject struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		URL, Path, Type, Address string
		Ref                      struct{ Branch string }
		SecretRef                struct{ Name string }
		SourceRef                struct{ Kind, Name string }
		ProviderRef              struct{ Name string }
	}
}

// applyManifests has a cluster follow a branch, if an API server and Flux would take the objects.
func (w *githubWorld) applyManifests(context, text string) error {
	schemas, err := crdtest.Load()
	if err != nil {
		return err
	}
	if wrong := schemas.Check([]byte(text)); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	objects := map[string]fluxObject{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o fluxObject
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return err
		}
		objects[o.Kind+" "+o.Metadata.Name] = o
	}
	source, kustomization, provider := objects["GitRepository fleet"], objects["Kustomization fleet"], objects["Provider fleet"]
	err = w.clusters.withCluster(context, func(k *cluster) error {
		repo, isHub := strings.CutPrefix(source.Spec.URL, "https://github.com/")
		switch login, token := k.secrets[source.Spec.SecretRef.Name], k.secrets[provider.Spec.SecretRef.Name]; {
		case !isHub || !isDir(w.fake.Git.Dir(repo)):
			return fmt.Errorf("GitRepository fleet: there is no repository %q", source.Spec.URL)
		case login["username"] == "" || login["password"] == "":
			return fmt.Errorf("GitRepository fleet: secret %q has no username and password", source.Spec.SecretRef.Name)
		case kustomization.Spec.SourceRef.Kind != "GitRepository" || kustomization.Spec.SourceRef.Name != "fleet":
			return errors.New("Kustomization fleet reads another source")
		case provider.Spec.Type != "github" || provider.Spec.Address != source.Spec.URL || token["token"] == "":
			return errors.New("Provider fleet does not report to the repository")
		case objects["Alert fleet"].Spec.ProviderRef.Name != "fleet":
			return errors.New("Alert fleet has no provider")
		}
		k.repo, k.branch, k.folder = repo, source.Spec.Ref.Branch, strings.TrimPrefix(kustomization.Spec.Path, "./")
		return nil
	})
	if err != nil {
		return err
	}
	return w.clusters.reconcile(w, source.Spec.Ref.Branch)
}

// reconcile has the clusters that follow a branch apply its head and report, as Flux does.
func (c *clusters) reconcile(w *githubWorld, branch string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for context, k := range c.byContext {
		if k.branch != branch {
			continue
		}
		dir := w.fake.Git.Dir(k.repo)
		head := gittest.Git(w.T, dir, "rev-parse", "refs/heads/"+branch)
		if gittest.Git(w.T, dir, "ls-tree", head, k.folder) == "" {
			return fmt.Errorf("%s: kustomization path not found: %s", context, filepath.Join("/", k.folder))
		}
		w.fake.Say(k.repo, "flux", head, githubfake.Status{Context: "kustomization/fleet/1a2b3c4d", State: "success", Description: "reconciliation succeeded"})
	}
	return nil
}

// TestStandInsNotice: the stand-ins refuse what the programs and Flux would refuse.
func TestStandInsNotice(t *testing.T) {
	w := &githubWorld{T: t, fake: githubfake.Serve(t)}
	w.fake.Token = readerToken
	run := func(stdin, program string, args ...string) error {
		_, err := w.runCall(standInCall{Program: program, Args: args, Stdin: stdin})
		return err
	}
	secret := func(name string, literals ...string) error {
		return run("", "kubectl", append([]string{"--context", "kind-dev", "--namespace", "flux-system", "create", "secret", "generic", name}, literals...)...)
	}
	login := func(token string) error {
		return secret("gitops", "--from-literal=username=git", "--from-literal=password="+token)
	}
	apply := func(text string) error { return run(text, "kubectl", "--context", "kind-dev", "apply", "-f", "-") }
	manifest := ""
	for _, b := range readPage(t, "docs/how-to/bootstrap-a-cluster.md").blocks {
		if strings.Contains(b.text, "kind: GitRepository") {
			manifest = b.text
		}
	}
	steps := []struct {
		what string
		do   func() error
		want string // of the error; "" for none
	}{
		{"a secret without a cluster", func() error { return login("x") }, `no cluster "kind-dev"`},
		{"a cluster", func() error { return run("", "kind", "create", "cluster", "--name", "dev") }, ""},
		{"a secret without Flux", func() error { return login("x") }, "no namespace"},
		{"Flux", func() error { return run("", "flux", "install", "--context", "kind-dev") }, ""},
		{"an empty token", func() error { return login("") }, "is empty"},
		{"no repository", func() error { return apply(manifest) }, "no repository"},
		{"a repository", func() error { return run("", "gh", "repo", "create", "acme/gitops", "--private") }, ""},
		{"no secret", func() error { return apply(manifest) }, "no username and password"},
		{"a secret", func() error { return login("x") }, ""},
		{"no token", func() error { return apply(manifest) }, "does not report"},
		{"a token", func() error { return secret("fleet-status", "--from-literal=token=x") }, ""},
		{"a misspelt field", func() error { return apply(strings.Replace(manifest, "interval", "intervall", 1)) }, "intervall"},
		{"no pull request", func() error { return run("", "gh", "pr", "merge", "--repo", "acme/gitops", "--merge", "fairlead/dev") }, "no pull requests found"},
	}
	for _, s := range steps {
		err := s.do()
		if (err == nil) != (s.want == "") || err != nil && !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s: the error is %v, want %q", s.what, err, s.want)
		}
	}
}
