package docstest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

// TestMain lets the test's own program be fairlead, or a stand-in, under that name.
func TestMain(m *testing.M) {
	switch program := filepath.Base(os.Args[0]); {
	case program == "fairlead":
		os.Exit(cli.RunProcess())
	case slices.Contains(standIns, program):
		os.Exit(runStandIn(program, os.Args[1:]))
	}
	os.Exit(giteatest.Run(m))
}

// outside are the programs that a block marked sh may need, which no test has: a
// cluster, a container, a server of others, or a person's decision in a browser.
var outside = []string{
	"kubectl", "flux ", "kind ", "docker", "gh ", "sops", "age-keygen", "systemctl", "sudo", "cosign", "goreleaser",
	// Commands that name a repository or a daemon that only the reader has.
	"https://github.com/", "fairlead.acme.example", "/etc/fairlead/", "fairlead-new", "../gitops", "COMMIT", "gitops", "oras",
}

// typed reports whether the commands of a page are typed by a test: those of the
// tutorial and of the how-to guides are.
func (p *page) typed() bool {
	return strings.HasPrefix(p.name, "docs/tutorial/") || strings.HasPrefix(p.name, "docs/how-to/")
}

// TestCommands types what the pages say, each in a home of its own, and compares what
// comes with what the page shows.
func TestCommands(t *testing.T) {
	for _, p := range readPages(t) {
		if !p.typed() || len(p.steps) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(strings.TrimPrefix(p.name, "docs/"), "/", "-"), func(t *testing.T) {
			if testing.Short() && p.name != "docs/tutorial/clusters.md" {
				t.Skip("-short types the commands of one page")
			}
			t.Parallel()
			p.typeCommands(t)
		})
	}
}

// mark stands between the output of one step and that of the next.
const mark = "\x01"

func (p *page) typeCommands(t *testing.T) {
	t.Helper()
	if p.setup == "" {
		t.Fatalf("%s has commands and no <!-- setup: NAME -->", p.name)
	}
	env, replace := p.startServer(t)
	var script strings.Builder
	for _, name := range []string{"prelude", p.setup} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".sh"))
		if err != nil {
			t.Fatal(err)
		}
		script.Write(text)
	}
	for i, s := range p.steps {
		fmt.Fprintf(&script, "printf '\\n%s%d\\n'\n%s\n", mark, i, s.command)
	}
	output, err := runScript(t, replace.Replace(script.String()), env)
	parts := strings.Split(output, "\n"+mark)
	for i, part := range parts[1:] {
		_, printed, _ := strings.Cut(part, "\n")
		p.steps[i].compare(t, p.name, replace, printed)
	}
	if err != nil {
		at := "its setup"
		if len(parts) > 1 {
			s := p.steps[len(parts)-2]
			at = fmt.Sprintf("%s:%d: %s", p.name, s.line, s.command)
		}
		t.Fatalf("%s: %v:\n%s", at, err, parts[len(parts)-1])
	}
}

// startServer starts the server that the page is about, if it is about one: what the
// script finds in its environment, and where the reader's server is in the test.
func (p *page) startServer(t *testing.T) (env []string, replace *strings.Replacer) {
	t.Helper()
	switch p.setup {
	case "github":
		_, env := startGitHub(t)
		return env, strings.NewReplacer()
	case "gitea":
	default:
		return nil, strings.NewReplacer()
	}
	s := giteatest.Start(t)
	return []string{"FAIRLEAD_GIT_TOKEN=" + s.UserToken("alice")}, strings.NewReplacer("localhost:3000", strings.TrimPrefix(s.URL, "http://"))
}

func runScript(t *testing.T, script string, env []string) (output string, err error) {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := []string{"fairlead"}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, standInVariable+"=") }) {
		programs = append(programs, standIns...)
	}
	for _, name := range programs {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(bin, "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", file)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Dir = home
	c.Env = append(env,
		"HOME="+home, "XDG_CACHE_HOME="+home+"/.cache", "XDG_STATE_HOME="+home+"/.state", "PATH="+bin+":"+os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C.UTF-8", "TERM=dumb",
		"GOGC=400", // most programs live too short a time for their garbage to matter
	)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	ended, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ended.Close()
	c.ExtraFiles = []*os.File{held} // whatever the script starts has it open until it ends
	err = c.Start()
	held.Close()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	// What a page starts in the background ends with its commands, also when they fail. Only then may
	// its folders be removed: a daemon that ends still writes into them.
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	kill := time.AfterFunc(5*time.Minute, func() {
		t.Error("what the page started in the background does not end")
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	})
	defer kill.Stop()
	if _, err := io.Copy(io.Discard, ended); err != nil {
		t.Fatal(err)
	}
	return out.String(), err
}

var (
	commitID = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	spaces   = regexp.MustCompile(`\s+`)
)

// compare reports lines of the page that were not printed, in their order. Commits are
// as good as other commits, and so is white space.
func (s step) compare(t *testing.T, name string, replace *strings.Replacer, printed string) {
	t.Helper()
	lines := strings.Split(printed, "\n")
	for _, want := range s.want {
		pattern := regexp.QuoteMeta(replace.Replace(strings.TrimSpace(want)))
		pattern = strings.ReplaceAll(pattern, "…", ".*")
		pattern = spaces.ReplaceAllString(commitID.ReplaceAllString(pattern, "[0-9a-f]{7,40}"), `\s+`)
		matching := regexp.MustCompile(`^\s*` + pattern + `\s*$`)
		at := slices.IndexFunc(lines, matching.MatchString)
		if at < 0 {
			t.Errorf("%s:%d: %s\nprints no line %q, but\n%s", name, s.line, s.command, want, printed)
			return
		}
		if want != "…" {
			lines = lines[at+1:]
		}
	}
}

// TestShellBlocks: what a test could type is typed.
func TestShellBlocks(t *testing.T) {
	for _, p := range readPages(t) {
		for _, b := range p.blocks {
			switch b.language {
			case "console", "yaml", "text", "gitignore", "json", "":
				continue
			case "sh":
			default:
				t.Errorf("%s:%d: blocks are console, sh, yaml, json or text, and not %q", p.name, b.line, b.language)
				continue
			}
			if !slices.ContainsFunc(outside, func(o string) bool { return strings.Contains(b.text, o) }) {
				t.Errorf("%s:%d: nothing in the block needs a cluster or a server: mark it console, so that it is typed", p.name, b.line)
			}
		}
	}
}
