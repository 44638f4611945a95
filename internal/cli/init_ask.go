package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type dialog struct {
	in  *bufio.Reader
	out io.Writer
}

func (d dialog) ask(question, byDefault string) (string, error) {
	fmt.Fprintf(d.out, "%s [%s]: ", question, byDefault)
	line, err := d.in.ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", usageErrorf("flags answer the questions: fairlead init --help", "the questions were not answered")
	}
	return strings.TrimSpace(line), nil
}

type question struct {
	flag, text, byDefault string
	// check returns the problem of an answer, except the default.
	check  func(answer string) error
	answer *string
}

func (d dialog) askUntilValid(q question) error {
	for {
		answer, err := d.ask(q.text, q.byDefault)
		if err != nil {
			return err
		}
		wrong := error(nil)
		if answer != "" {
			wrong = q.check(answer)
		}
		if wrong == nil {
			*q.answer = answer
			return nil
		}
		fmt.Fprintf(d.out, "  %s\n", display.SanitizeLine(wrong.Error()))
	}
}

func oneOf(words []string) func(string) error {
	return func(answer string) error {
		if slices.Contains(words, answer) {
			return nil
		}
		return fmt.Errorf("%s is not one of %s", answer, text.Join(words, " and "))
	}
}

func checkEnvironmentNames(names string) error {
	o := scaffold.Options{ControlPlane: controlPlaneName, GitOps: gitOpsName, Environments: splitNames(names)}
	if p, stops := o.Problems().FirstStopping(); stops {
		return errors.New(p.Summary)
	}
	return nil
}

func splitNames(names string) []string {
	var all []string
	for name := range strings.SplitSeq(names, ",") {
		all = append(all, strings.TrimSpace(name))
	}
	return all
}

func (i *initCommand) askOptions(c *cobra.Command, folder string) error {
	d := dialog{bufio.NewReader(c.InOrStdin()), i.app.stdout}
	fmt.Fprintln(i.app.stdout, "Press Enter for what is in brackets. Nothing is created before the last question.")
	environments, sample := "", ""
	location := func(flag string) func(string) error {
		return func(answer string) error { return checkLocation(flag, answer) }
	}
	for _, q := range []question{
		{"forge", "Forge: " + text.Join(forgeKinds, " or "), "by the host of the repositories", oneOf(forgeKinds), &i.forge},
		{"control-plane", "Control plane, an empty repository: a URL or a path", filepath.Join(folder, controlPlaneName), location("the control plane"), &i.options.ControlPlane},
		{"gitops", "GitOps repository, another empty one: a URL or a path", filepath.Join(folder, gitOpsName), location("the GitOps repository"), &i.options.GitOps},
		{"environments", "Environments, in the order of promotion", "dev,stage,prod", checkEnvironmentNames, &environments},
		{"reconciler", "Reconciler on the clusters: " + text.Join(scaffold.Reconcilers(), " or "), "flux and argocd, one each", oneOf(scaffold.Reconcilers()), &i.options.Reconciler},
		{"sample", "Sample with two cluster types and a workload: yes or no", "yes", oneOf([]string{"yes", "no", "y", "n"}), &sample},
	} {
		if c.Flags().Changed(q.flag) {
			continue
		}
		if err := d.askUntilValid(q); err != nil {
			return err
		}
	}
	if environments != "" {
		i.options.Environments = splitNames(environments)
	}
	if !c.Flags().Changed("sample") {
		i.options.Sample = !strings.HasPrefix(sample, "n")
	}
	return nil
}
