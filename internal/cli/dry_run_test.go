package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// writesNothing are the commands that change nothing that others use, and why.
var writesNothing = map[string]string{
	"render": "a folder of this machine", "check": "", "diff": "", "explain": "", "explain promotion": "", "get": "", "schedule export": "", "schedule show": "", "schedule what-if": "", "stack list": "", "stack show": "", "stack graph": "", "stack plan": "", "verify": "",
	"status": "", "history": "", "simulate": "", "wait": "", "ephemeral list": "", "pr list": "", "pr show": "", "pr diff": "", "pr view": "",
	"doctor": "", "open": "opens a browser", "schema": "", "version": "", "help": "",
	"cluster import": "a file of this machine, with --write", "cluster list": "", "cluster plan": "", "cluster show": "",
	"fleet behind": "", "fleet clusters": "", "fleet compare": "", "fleet dora": "", "fleet drift": "", "fleet refusals": "", "fleet history": "", "fleet lead-time": "", "fleet list": "", "fleet where": "",
	"fleet export": "", "fleet import": "fills an empty ledger, and refuses all else", "fleet rebuild": "the ledger, from what Git holds",
	"completion bash": "", "completion fish": "", "completion powershell": "", "completion zsh": "",
	"install daemon": "prints, or a folder of this machine", "install agent": "the same", "plugin": "a link of this machine",
	"serve": "write: false in the settings is its dry run", "init": "fills what is empty, and refuses all else", "demo": "a folder of its own",
}

// dryRun is a command that writes. setup are the commands before it, and args what is run with
// --dry-run and without it.
type dryRun struct {
	command string
	setup   []string
	args    string
	does    string // of the first effect
}

// $CP and $OUT are the control plane and the GitOps repository, $URL a daemon, $FOLDERS a repository
// whose environments are folders, and $INPUTS those of the plan of a stack.
// advancing has the first wave of an advance of dev merged.
var advancing = []string{
	`set Promotion/fleet environments[dev].waves=[{"name":"first","pick":{"count":1}}] --control-plane $CP`, "serve --once --config $SETTINGS", "pr merge dev --repo $OUT",
	"set -e dev config/20-environment EXTRA=1 --control-plane $CP", "serve --once --config $SETTINGS", "pr merge dev --repo $OUT",
}

var registering = []string{"create registration shop --repo $FOLDERS --path ./shop --control-plane $CP"}

// choosing has a policy choose.
const choosing = `set policy/hello -e dev annotations.fairlead.io/choose={"pick":1} --control-plane $CP`

var dryRuns = []dryRun{
	{"promote", nil, "promote dev main --control-plane $CP", "commit to dev of "},
	{"promote", nil, "promote dev main --control-plane $CP --pull-request", "commit to fairlead/change/promote/dev of "},
	{"promote", nil, "promote --path one two --repo $FOLDERS", ""},
	{"approve", nil, "approve stage main --control-plane $CP", "commit to stage of "},
	{"approve-plan", nil, "approve-plan dev checkout/dev/eks --inputs $INPUTS --control-plane $CP", "commit to dev of "},
	{"stack clone", nil, "stack clone dev checkout/dev checkout/green --control-plane $CP", "commit to dev of "},
	{"stack pin", nil, "stack pin dev checkout/dev --config $SETTINGS", "commit to dev of "},
	{"stack teardown", nil, "stack teardown dev checkout/dev --control-plane $CP", "commit to dev of "},
	{"create cluster-type", nil, "create cluster-type gpu -e dev --control-plane $CP", "commit to dev of "},
	{"create policy", nil, "create policy all -e dev --targets everything --cluster-types everything --control-plane $CP --pull-request", "commit to fairlead/change/create/dev-schedulingpolicy-all of "},
	{"create config", nil, "create config extra --data A=b --control-plane $CP", "commit to main of "},
	{"create template", nil, "create template small --type namespace --file " + os.DevNull + " --control-plane $CP", "commit to main of "},
	{"create workload", nil, "create workload cart --control-plane $CP", "commit to main of "},
	{"create target", nil, "create target hello/two -e dev --manifest repo=https://git.example --manifest branch=main --manifest path=. --control-plane $CP", "commit to main of "},
	{"create registration", nil, "create registration shop --repo $FOLDERS --path ./shop --control-plane $CP", "commit to main of "},
	{"create environment", nil, "create environment qa --from dev --before stage --control-plane $CP", "commit to qa of "},
	{"set", nil, "set -e dev cluster-type/cloud labels.size=large --control-plane $CP", "commit to dev of "},
	{"delete", nil, "delete policy/hello -e dev --control-plane $CP", "commit to dev of "},
	{"schedule rebalance", []string{choosing}, "schedule rebalance -e dev --control-plane $CP", "commit to dev of "},
	{"schedule forget", []string{choosing, "schedule rebalance -e dev --control-plane $CP"}, "schedule forget hello -e dev --control-plane $CP", "commit to dev of "},
	{"waves skip", advancing, "waves skip dev first --reason why --config $SETTINGS", "commit to dev of "},
	{"waves back", advancing, "waves back dev --reason why --config $SETTINGS", "commit to dev of "},
	{"waves replace", append(slices.Clone(advancing), "set -e dev config/20-environment EXTRA=2 --control-plane $CP"), "waves replace dev --reason why --config $SETTINGS", "commit to dev of "},
	{"waves retry", append(slices.Clone(advancing), "waves skip dev first --reason why --config $SETTINGS"), "waves retry dev --reason why --config $SETTINGS", "commit to dev of "},
	{"versions adopt", registering, "versions adopt --control-plane $CP", "commit to main of "},
	{"versions cut", append(slices.Clone(registering), "versions adopt --control-plane $CP"), "versions cut shop --reason why --control-plane $CP", "commit to releases/shop of "},
	{"versions pin", append(slices.Clone(registering), "versions adopt --control-plane $CP"), "versions pin dev shop=main --reason why --control-plane $CP", "commit to dev of "},
	{"versions unpin", append(slices.Clone(registering), "versions adopt --control-plane $CP", "versions pin dev shop=main --reason why --control-plane $CP"), "versions unpin dev shop --control-plane $CP", "commit to dev of "},
	{"versions skip", append(slices.Clone(registering), "versions adopt --control-plane $CP"), "versions skip shop=main --reason why --control-plane $CP", "commit to main of "},
	{"hold", nil, "hold dev --reason why --control-plane $CP", "commit to dev of "},
	{"hold", nil, "hold dev --reason why --config $SETTINGS", "commit to dev of "},
	{"hold", nil, "hold dev --reason why --control-plane $CP --pull-request", "commit to fairlead/change/hold/dev of "},
	{"release", []string{"hold dev --reason why --control-plane $CP"}, "release dev --control-plane $CP", "commit to dev of "},
	{"rollback", []string{"promote dev main~1 --control-plane $CP", "promote dev main --control-plane $CP"}, "rollback dev --reason why --control-plane $CP", "commit to dev of "},
	{"freeze", nil, "freeze q4 --reason why --control-plane $CP", "commit to main of "},
	{"freeze", []string{"freeze q4 --reason why --control-plane $CP"}, "freeze q4 --remove --control-plane $CP", "commit to main of "},
	{"freeze", []string{"freeze q4 --reason why --control-plane $CP"}, "freeze q4 --except main --reason why --control-plane $CP", "commit to main of "},
	{"ephemeral create", nil, "ephemeral create pr-7 --from dev --control-plane $CP", "commit to ephemeral/pr-7 of "},
	{"ephemeral extend", []string{"ephemeral create pr-7 --from dev --control-plane $CP"}, "ephemeral extend pr-7 --control-plane $CP", "commit to ephemeral/pr-7 of "},
	{"ephemeral remove", []string{"ephemeral create pr-7 --from dev --control-plane $CP"}, "ephemeral remove pr-7 --control-plane $CP", "commit to ephemeral/pr-7 of "},
	{"pr merge", []string{"serve --once --config $SETTINGS"}, "pr merge dev --repo $OUT", "move dev of "},
	{"pr close", []string{"serve --once --config $SETTINGS"}, "pr close dev --repo $OUT", "commit to refs/fairlead/pulls/"},
	{"pr reopen", []string{"serve --once --config $SETTINGS", "pr close dev --repo $OUT"}, "pr reopen dev --repo $OUT", "commit to refs/fairlead/pulls/"},
	{"trigger", nil, "trigger --url $URL", "call POST "},
	{"fleet retire", nil, "fleet retire east-1 --reason why --control-plane $CP", "commit to main of "},
	{"fleet adopt", nil, "fleet adopt east-1 --reason why --control-plane $CP", "commit to main of "},
	{"cluster bootstrap", nil, "cluster bootstrap east-1 -e dev --type cloud --repo https://git.example.com/acme/gitops --server https://fairlead.example.com --pr --config $SETTINGS", "commit to fairlead/"},
	{"cluster connect", nil, "cluster connect east-1 --flux -e dev --type cloud --server https://fairlead.example.com --pr --config $SETTINGS", "commit to fairlead/"},
	{"fleet token", nil, "fleet token east-1 --renew --reason why --config $SETTINGS", "commit to main of "},
}

// TestDryRun: every command either writes nothing, or has --dry-run, with which it changes no
// repository, calls no daemon, and says what it does without.
func TestDryRun(t *testing.T) {
	covered := map[string]bool{}
	for _, test := range dryRuns {
		covered[test.command] = true
	}
	visitCommands(newRoot(&app{stdout: display.NewStream(&bytes.Buffer{}), stderr: display.NewStream(&bytes.Buffer{})}), func(c *cobra.Command, path string) {
		_, reads := writesNothing[path]
		switch has := c.Flags().Lookup("dry-run") != nil; {
		case has == reads:
			t.Errorf("%s: --dry-run: %v; listed as a command that writes nothing: %v", path, has, reads)
		case has && !covered[path]:
			t.Errorf("%s has --dry-run, and no test of it", path)
		}
	})
	for i, test := range dryRuns {
		t.Run(test.command, func(t *testing.T) {
			if testing.Short() && i > 1 {
				t.Skip("-short runs two of the commands")
			}
			checkDryRun(t, test)
		})
	}
}

// visitCommands visits the commands that run something themselves.
func visitCommands(c *cobra.Command, visit func(c *cobra.Command, path string)) {
	for _, sub := range c.Commands() {
		visitCommands(sub, visit)
	}
	if path, below := strings.CutPrefix(c.CommandPath(), "fairlead "); below && (!c.HasSubCommands() || c.Name() == "explain") {
		visit(c, path)
	}
}

// operatorWorld is what a command can write to.
type operatorWorld struct {
	t     *testing.T
	dir   string
	calls atomic.Int32 // of the daemon that is not a GET
	names *strings.Replacer
}

func newOperatorWorld(t *testing.T) *operatorWorld {
	w := &operatorWorld{t: t, dir: t.TempDir()}
	daemon := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.calls.Add(1)
		}
		answer.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(daemon.Close)
	for name, value := range map[string]string{
		"HOME": w.dir, "XDG_CACHE_HOME": filepath.Join(w.dir, "cache"), "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "author", "GIT_AUTHOR_EMAIL": "author@git.example", "GIT_COMMITTER_NAME": "author", "GIT_COMMITTER_EMAIL": "author@git.example",
	} {
		t.Setenv(name, value)
	}
	at := func(name string) string { return filepath.Join(w.dir, name) }
	w.names = strings.NewReplacer("$CP", at("control-plane.git"), "$OUT", at("gitops.git"), "$SETTINGS", at("fairlead.yaml"), "$URL", daemon.URL, "$FOLDERS", at("folders.git"))
	w.run("init " + w.dir + " --sample --environments dev,stage")
	w.git("clone", "--quiet", at("control-plane.git"), at("work"))
	for range 2 {
		w.git("-C", at("work"), "commit", "--quiet", "--allow-empty", "--message", "more")
	}
	w.git("-C", at("work"), "push", "--quiet")
	w.git("init", "--quiet", "--bare", "--initial-branch", "main", at("folders.git"))
	w.git("clone", "--quiet", at("folders.git"), at("folders"))
	w.write("folders/shop/shop.yaml", "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\n")
	for _, folder := range []string{"one", "two"} {
		w.write("folders/"+folder+"/app.yaml", "in: "+folder+"\n")
	}
	w.git("-C", at("folders"), "add", ".")
	w.git("-C", at("folders"), "commit", "--quiet", "--message", "folders")
	w.git("-C", at("folders"), "push", "--quiet", "origin", "HEAD:main")
	settings, err := os.ReadFile(at("fairlead.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimPrefix(daemon.URL, "http://")
	w.write("ledger-secret", "a secret of thirty-two bytes, or more\n")
	w.write("fairlead.yaml", strings.NewReplacer("write: false", "write: true", "127.0.0.1:8080", listen).Replace(string(settings))+"ledger: {secret: {file: ledger-secret}}\n")
	return w
}

func (w *operatorWorld) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *operatorWorld) git(args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs a command of ours, which must succeed, and returns what it prints.
func (w *operatorWorld) run(command string) string {
	w.t.Helper()
	var out, errs bytes.Buffer
	if code := Main(w.t.Context(), strings.Fields(w.names.Replace(command)), &out, &errs); code != exitOK {
		w.t.Fatalf("%s: exit code %d\n%s%s", command, code, out.String(), errs.String())
	}
	return out.String()
}

// state returns all references, and how often the daemon was called.
func (w *operatorWorld) state() string {
	all := ""
	for _, repo := range []string{"control-plane.git", "gitops.git", "folders.git"} {
		all += w.git("--git-dir", filepath.Join(w.dir, repo), "for-each-ref")
	}
	return all + string('0'+rune(w.calls.Load()))
}

func checkDryRun(t *testing.T, test dryRun) {
	w := newOperatorWorld(t)
	if test.command == "approve-plan" || strings.HasPrefix(test.command, "stack ") {
		w.addStack()
	}
	for _, command := range test.setup {
		w.run(command)
	}
	before := w.state()
	says := w.run(test.args + " --dry-run")
	if test.does != "" && !strings.HasPrefix(says, "dry run: nothing was changed. Without --dry-run the command does this:\n- "+test.does) {
		t.Errorf("it says\n%s", says)
	}
	if test.does != "" && test.command != "trigger" {
		var report struct {
			DryRun  bool
			Effects []effect
		}
		if err := json.Unmarshal([]byte(w.run(test.args+" --dry-run --output json")), &report); err != nil || !report.DryRun || len(report.Effects) == 0 {
			t.Errorf("the report %+v (%v)", report, err)
		}
	}
	if after := w.state(); after != before {
		t.Errorf("a dry run has changed\n%sto\n%s", before, after)
	}
	w.run(test.args)
	if w.state() == before {
		t.Error("the command changes nothing, so that the test says nothing about its dry run")
	}
}

// addStack adds a stack to the output of dev, and makes $INPUTS known.
func (w *operatorWorld) addStack() {
	w.t.Helper()
	work := filepath.Join(w.dir, "work")
	w.git("-C", work, "switch", "--quiet", "dev")
	w.write("work/stack.yaml", `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: zlifecycle-prod-tfstate-zmart, region: us-east-1}
  modules: {repo: "https://git.example/gitops"}
  follow: {modules: false}
---
apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
  components:
    - {name: eks, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}}
    - {name: moving, type: terraform, autoApprove: true, module: {source: "https://git.example/moving?ref=main"}}
`)
	settings, err := os.ReadFile(filepath.Join(w.dir, "fairlead.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("fairlead.yaml", string(settings)+"map: {https://git.example/moving: folders.git}\n")
	w.git("-C", work, "add", ".")
	w.git("-C", work, "commit", "--quiet", "--message", "a stack")
	w.git("-C", work, "push", "--quiet")
	w.run("serve --once --config $SETTINGS")
	w.run("pr merge dev --repo $OUT")
	object := w.git("--git-dir", filepath.Join(w.dir, "gitops.git"), "show", "dev:environments/checkout/dev/eks/objects/terraform.yaml")
	_, after, _ := strings.Cut(object, "fairlead.io/inputs: ")
	inputs, _, _ := strings.Cut(after, "\n")
	w.names = strings.NewReplacer("$CP", filepath.Join(w.dir, "control-plane.git"), "$SETTINGS", filepath.Join(w.dir, "fairlead.yaml"), "$INPUTS", strings.Trim(inputs, `"`))
}
