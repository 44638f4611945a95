package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/render"
)

// parsePairs parses KEY=VALUE flags. In URLs, which may contain "=", the last "="
// separates.
func parsePairs(flag, form string, values []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, v := range values {
		i := strings.LastIndex(v, "=")
		if strings.HasPrefix(form, "NAME") {
			i = strings.Index(v, "=")
		}
		if i <= 0 || i == len(v)-1 {
			return nil, usageErrorf("it should be "+form, "%s %s cannot be read", flag, v)
		}
		if _, twice := pairs[v[:i]]; twice {
			return nil, usageErrorf("leave one of them out", "%s is given twice for %s", flag, v[:i])
		}
		pairs[v[:i]] = v[i+1:]
	}
	return pairs, nil
}

// singleValue rejects a second value, which would silently replace the first.
type singleValue struct {
	flag  string
	value *string
	set   bool
}

func (s *singleValue) String() string { return *s.value }

func (s *singleValue) Type() string { return "name" }

func (s *singleValue) Set(value string) error {
	switch {
	case s.set && value != *s.value: // completion sets the same value again
		return usageErrorf("run the command once for each", "%s is given twice", s.flag)
	case value == "":
		return usageErrorf("leave the flag out, or name one", "%s has no name", s.flag)
	}
	*s.value, s.set = value, true
	return nil
}

// duration accepts days.
type duration struct {
	flag  string
	value *time.Duration
}

func (d duration) String() string { return d.value.String() }

func (d duration) Type() string { return "duration" }

func (d duration) Set(given string) error {
	value, err := text.ParseDuration(given)
	if err != nil {
		return usageErrorf("as in 90s, 30m, 4h or 7d", "--%s %s is not a length of time", d.flag, given)
	}
	*d.value = value
	return nil
}

func addDurationFlag(f *pflag.FlagSet, value *time.Duration, name string, without time.Duration, usage string) {
	*value = without
	f.Var(duration{name, value}, name, usage)
}

func addMissingValuesFlag(f *pflag.FlagSet, o *render.Options) {
	f.BoolVar(&o.PublishMissing, "publish-missing-values", false, "publish null and missing values as <no value>, with a warning (the setting missingValues: publish)")
}

func checkSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := c.CommandPath() + " --help lists what there is"
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", c.CommandPath()+" "+near[0])
	}
	return usageErrorf(hint, "%s has no command %q", c.CommandPath(), args[0])
}

func checkArguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		hint := fmt.Sprintf("call it as %q; %s --help says more", c.UseLine(), c.CommandPath())
		switch n := len(args); {
		case n > most && most == 0:
			return usageErrorf(hint, "%s takes no arguments, and there is %q", c.CommandPath(), args[0])
		case n > most:
			return usageErrorf(hint, "%s takes %s, and there are %d", c.CommandPath(), text.Count(most, "argument"), n)
		case n < least:
			return usageErrorf(hint, "%s needs %s, and there is %s", c.CommandPath(), text.Count(least, "argument"), map[bool]string{true: "none", false: fmt.Sprintf("only %d", n)}[n == 0])
		}
		return nil
	}
}

func newFlagError(c *cobra.Command, err error) error {
	var usage *problem.Refusal
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &usage): // of our own flags
		return usage
	case c.HasSubCommands() && c.Use == c.Name() && c.Flags().NArg() > 0: // the flag may belong to the intended subcommand
		return checkSubcommand(c, c.Flags().Args())
	}
	hint := c.CommandPath() + " --help lists the flags"
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := problem.FindNearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return usageErrorf(hint, "%s", strings.TrimSpace(err.Error()))
}
