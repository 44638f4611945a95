package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type demoStep struct {
	title    string
	commands []string
	rest     []demoRest
}

type demoRest struct {
	then     string // what to wait for
	commands []string
}

// demoGuide is the second part of the demo. It only changes main, which the daemon
// never pushes to, so no push is rejected. Commands have no comments: an interactive
// zsh takes them for arguments.
var demoGuide = []demoStep{
	{title: "See which commit each environment has, and why", commands: []string{
		"fairlead status",
		"fairlead explain promotion prod",
	}},
	{title: "Change a value, wait until prod has it, and read the pull request that brought it", commands: []string{
		"sed -i.bak 's/GREETING: .*/GREETING: ahoy/' configs/fleet.yaml",
		"git commit -qam 'Greet with ahoy' && git push -q",
		"fairlead wait prod $(git rev-parse HEAD) --interval 1s",
		"fairlead pr list --all --repo ../gitops.git",
		"fairlead pr show prod --repo ../gitops.git",
	}},
	{title: "Mistype a label, so that no policy selects the workload any more", commands: []string{
		"sed -i.bak 's/app: hello/app: helo/' workloads/hello.yaml",
		"git commit -qam 'Tidy the labels' && git push -q",
	}, rest: []demoRest{{"That would delete the workload everywhere, so the pull request in dev waits for a person.\nWhen the first terminal says so, look at it, and take the mistake back:", []string{
		"fairlead status",
		"fairlead pr show dev --repo ../gitops.git",
		"git revert --no-edit HEAD && git push -q",
		"fairlead wait prod $(git rev-parse HEAD) --interval 1s",
	}}}},
	{title: "The team of hello deploys from a branch that does not exist: the rollout fails in dev", commands: []string{
		"sed -i.bak 's/branch: master/branch: mastre/' workloads/hello.yaml",
		"git commit -qam 'hello: deploy from another branch' && git push -q",
		"fairlead wait dev $(git rev-parse HEAD) --interval 1s",
	}},
	{title: "The team of shop does not wait for that", commands: []string{
		"sed -i.bak 's,path: ./kustomize,path: ./deploy/webapp,' workloads/shop.yaml",
		"git commit -qam 'shop: deploy the web app' && git push -q",
	}, rest: []demoRest{{"The change of shop reaches prod; that of hello stays in dev. When the first terminal says so,\nsee where each of them is, and why:", []string{
		"fairlead status",
		"fairlead explain promotion stage",
	}}}},
	{title: "The team of hello fixes its branch, and all environments have one commit again", commands: []string{
		"git revert --no-edit HEAD~1 && git push -q",
		"fairlead wait prod $(git rev-parse HEAD) --interval 1s",
	}},
	{title: "Hold prod: the next change goes as far as stage", commands: []string{
		"fairlead hold prod --reason 'the sale ends on Monday'",
		"sed -i.bak 's/GREETING: .*/GREETING: moin/' configs/fleet.yaml",
		"git commit -qam 'Greet with moin' && git push -q",
		"fairlead wait stage $(git rev-parse HEAD) --interval 1s",
		"fairlead explain promotion prod",
		"fairlead release prod",
		"fairlead wait prod $(git rev-parse HEAD) --interval 1s",
	}},
	{title: "Ask where each value of an assignment comes from", commands: []string{
		"git pull -q",
		"fairlead explain -e dev cloud/hello-web",
	}},
}

func (f demoFolder) describeSteps(guide []demoStep) string {
	var b strings.Builder
	b.WriteString("\nPart 2: your turn. Type this in a second terminal:\n\n")
	bin := f.path("bin")
	if found, err := exec.LookPath("fairlead"); err != nil || !isThisProgram(found) {
		fmt.Fprintf(&b, "  export PATH=%s:$PATH\n", text.QuoteShell(bin))
	}
	fmt.Fprintf(&b, "  cd %s\n", text.QuoteShell(f.path(demoClone)))
	for i, step := range guide {
		fmt.Fprintf(&b, "\n%d. %s\n\n", i+1, step.title)
		writeCommands(&b, step.commands)
		for _, rest := range step.rest {
			fmt.Fprintf(&b, "\n%s\n\n", rest.then)
			writeCommands(&b, rest.commands)
		}
	}
	fmt.Fprintf(&b, "\nThe steps are in %s too. Ctrl-C ends the demo.\n\n", f.path(demoStepsFile))
	return b.String()
}

// printSteps updates the clone, then prints the steps and writes them to a file.
func (f demoFolder) printSteps(ctx context.Context, out *display.Stream, guide []demoStep) error {
	if _, err := runGit(ctx, nil, "-C", f.path(demoClone), "fetch", "--quiet"); err != nil {
		return err
	}
	text := f.describeSteps(guide)
	fmt.Fprint(out, text)
	return os.WriteFile(f.path(demoStepsFile), []byte(text), 0o644)
}

func writeCommands(b *strings.Builder, commands []string) {
	for _, command := range commands {
		fmt.Fprintf(b, "  %s\n", command)
	}
}

func isThisProgram(file string) bool {
	program, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(program)
	b, errB := os.Stat(file)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
