package cli

import (
	"maps"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkUsage compares an error with the text that is wanted of it, "" for none, and sees that it
// is a usage error with a hint.
func checkUsage(t *testing.T, err error, wanted string) {
	t.Helper()
	if wanted == "" {
		if err != nil {
			t.Errorf("error %v", err)
		}
		return
	}
	if err == nil || err.Error() != wanted {
		t.Errorf("error %v, want %s", err, wanted)
		return
	}
	if exitCode(err) != exitUsage || findHint(err) == "" {
		t.Errorf("exit code %d, hint %q", exitCode(err), findHint(err))
	}
}

func TestParsePairs(t *testing.T) {
	const url, name = "URL=PATH-or-URL", "NAME=DIR"
	for _, test := range []struct {
		form   string
		values []string
		pairs  map[string]string
		fails  string
	}{
		{url, nil, map[string]string{}, ""},
		{url, []string{"https://a/b=c", "d=e"}, map[string]string{"https://a/b": "c", "d": "e"}, ""},
		{url, []string{"https://a/b?c=d=e"}, map[string]string{"https://a/b?c=d": "e"}, ""},
		{name, []string{"shop=a=b"}, map[string]string{"shop": "a=b"}, ""},
		{name, []string{"shop"}, nil, "--flag shop cannot be read"},
		{name, []string{"shop="}, nil, "--flag shop= cannot be read"},
		{name, []string{"=shop"}, nil, "--flag =shop cannot be read"},
		{name, []string{"shop=a", "shop=b"}, nil, "--flag is given twice for shop"},
	} {
		t.Run(strings.Join(test.values, " "), func(t *testing.T) {
			pairs, err := parsePairs("--flag", test.form, test.values)
			checkUsage(t, err, test.fails)
			if !maps.Equal(pairs, test.pairs) {
				t.Errorf("%v, want %v", pairs, test.pairs)
			}
		})
	}
}

func TestCheckArguments(t *testing.T) {
	for _, test := range []struct {
		least, most int
		args        []string
		fails       string
	}{
		{0, 0, nil, ""},
		{0, 0, []string{"a"}, `fairlead takes no arguments, and there is "a"`},
		{0, 1, []string{"a"}, ""},
		{0, 1, []string{"a", "b"}, "fairlead takes 1 argument, and there are 2"},
		{1, 2, nil, "fairlead needs 1 argument, and there is none"},
		{2, 2, []string{"a"}, "fairlead needs 2 arguments, and there is only 1"},
		{2, 2, []string{"a", "b"}, ""},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			checkUsage(t, checkArguments(test.least, test.most)(&cobra.Command{Use: "fairlead"}, test.args), test.fails)
		})
	}
}

// TestFlagValues: our own kinds of flags take what they should, and name what they do not.
func TestFlagValues(t *testing.T) {
	for _, test := range []struct {
		name  string
		args  []string
		value string
		fails string
	}{
		{"none", nil, "text", ""},
		{"known", []string{"--output", "sarif"}, "sarif", ""},
		{"the last", []string{"--output", "json", "--output=yaml"}, "yaml", ""},
		{"unknown", []string{"--output", "jsn"}, "text", "--output jsn: the formats are text, wide, json, yaml, name and sarif"},
		{"empty", []string{"--output="}, "text", "--output : the formats are text, wide, json, yaml, name and sarif"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, c := &app{format: "text"}, &cobra.Command{Use: "fairlead"}
			a.addOutputFlag(c, "sarif")
			err := c.ParseFlags(test.args)
			if err != nil {
				err = newFlagError(c, err)
			}
			checkFlag(t, err, test.fails)
			if a.format != test.value {
				t.Errorf("format %s, want %s", a.format, test.value)
			}
		})
	}
	for _, test := range []struct {
		name  string
		args  []string
		value string
		fails string
	}{
		{"none", nil, "", ""},
		{"one", []string{"-e", "dev"}, "dev", ""},
		{"the same", []string{"-e", "dev", "-e", "dev"}, "dev", ""},
		{"two", []string{"-e", "dev", "-e", "prod"}, "dev", "-e is given twice"},
		{"empty", []string{"-e", ""}, "", "-e has no name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			value, c := "", &cobra.Command{Use: "fairlead"}
			c.Flags().VarP(&singleValue{flag: "-e", value: &value}, "environment", "e", "")
			err := c.ParseFlags(test.args)
			if err != nil {
				err = newFlagError(c, err)
			}
			checkFlag(t, err, test.fails)
			if value != test.value {
				t.Errorf("%s, want %s", value, test.value)
			}
		})
	}
}

// checkFlag is checkUsage for flags, some of which have no hint.
func checkFlag(t *testing.T, err error, wanted string) {
	t.Helper()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != wanted || err != nil && exitCode(err) != exitUsage {
		t.Errorf("error %q with exit code %d, want %q", text, exitCode(err), wanted)
	}
}

// TestFlagErrors: a flag that is not known, or cannot be read, is a usage error that names the
// nearest flag, or the help; before a command it may be the command that is misspelled.
func TestFlagErrors(t *testing.T) {
	for _, test := range []struct {
		args        []string
		fails, hint string
	}{
		{[]string{"render", "--al"}, "unknown flag: --al", "did you mean --all?"},
		{[]string{"render", "--zzzzzz"}, "unknown flag: --zzzzzz", "fairlead render --help lists the flags"},
		{[]string{"render", "-z"}, "unknown shorthand flag: 'z' in -z", "fairlead render --help lists the flags"},
		{[]string{"render", "--out"}, "flag needs an argument: --out", "fairlead render --help lists the flags"},
		{[]string{"rendr", "--al"}, `fairlead has no command "rendr"`, `did you mean "fairlead render"?`},
		{[]string{"rendr"}, `fairlead has no command "rendr"`, `did you mean "fairlead render"?`},
		{[]string{"zzzzzz"}, `fairlead has no command "zzzzzz"`, "fairlead --help lists what there is"},
		{[]string{"pr", "zzzzzz"}, `fairlead pr has no command "zzzzzz"`, "fairlead pr --help lists what there is"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			root := newRoot(&app{format: "text"})
			root.SetArgs(test.args)
			err := root.ExecuteContext(t.Context())
			checkUsage(t, err, test.fails)
			if findHint(err) != test.hint {
				t.Errorf("hint %q, want %q", findHint(err), test.hint)
			}
		})
	}
}

// TestCommandsAreComplete: every command has a summary, checks and completes its arguments, and
// describes each of its flags.
func TestCommandsAreComplete(t *testing.T) {
	root := newRoot(&app{format: "text"})
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		name := c.CommandPath()
		if strings.HasPrefix(name, "fairlead completion") || name == "fairlead help" {
			return
		}
		if c.Short == "" || c.RunE == nil || c.Args == nil {
			t.Errorf("%s: no summary, no function, or no check of its arguments", name)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: nothing is said of --%s", name, f.Name)
			}
		})
		if !c.HasSubCommands() && c.ValidArgsFunction == nil && c.ValidArgs == nil {
			t.Errorf("%s: the shell completes file names as its arguments", name)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
