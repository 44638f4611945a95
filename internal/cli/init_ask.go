package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
)

// isTerminal reports whether a person types what r reads.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// dialog asks questions on a terminal.
type dialog struct {
	in  *bufio.Reader
	out io.Writer
}

// ask prints a question and returns the line that answers it; an empty one is the default.
func (d dialog) ask(question, byDefault string) (string, error) {
	fmt.Fprintf(d.out, "%s [%s]: ", question, byDefault)
	line, err := d.in.ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || line == "") {
		return "", usageErrorf("flags answer the questions: fairlead init --help", "the questions were not answered")
	}
	return strings.TrimSpace(line), nil
}

// askOptions asks for what no flag says.
func (i *initCommand) askOptions(c *cobra.Command, folder string) error {
	d := dialog{bufio.NewReader(c.InOrStdin()), i.app.stdout}
	fmt.Fprintln(i.app.stdout, "Press Enter for what is in brackets. Nothing is created before the last question.")
	environments, sample := "", ""
	for _, q := range []struct {
		flag, question, byDefault string
		answer                    *string
	}{
		{"forge", "Forge: " + text.Join(forgeKinds, " or "), "by the host of the repositories", &i.forge},
		{"control-plane", "Control plane, an empty repository: a URL or a path", filepath.Join(folder, controlPlaneName), &i.options.ControlPlane},
		{"gitops", "GitOps repository, another empty one: a URL or a path", filepath.Join(folder, gitOpsName), &i.options.GitOps},
		{"environments", "Environments, in the order of promotion", "dev,stage,prod", &environments},
		{"reconciler", "Reconciler on the clusters: " + text.Join(scaffold.Reconcilers(), " or "), "flux and argocd, one each", &i.options.Reconciler},
		{"sample", "Sample with two cluster types and a workload: yes or no", "yes", &sample},
	} {
		if c.Flags().Changed(q.flag) {
			continue
		}
		answer, err := d.ask(q.question, q.byDefault)
		if err != nil {
			return err
		}
		*q.answer = answer
	}
	if environments != "" {
		i.options.Environments = nil
		for name := range strings.SplitSeq(environments, ",") {
			i.options.Environments = append(i.options.Environments, strings.TrimSpace(name))
		}
	}
	if !c.Flags().Changed("sample") {
		i.options.Sample = sample == "" || strings.HasPrefix(strings.ToLower(sample), "y")
	}
	return nil
}
