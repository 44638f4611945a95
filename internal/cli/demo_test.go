package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// demoLimit is far more than a demo takes, on any machine.
const demoLimit = 10 * time.Minute

// hostileGitConfig is a user's configuration that is in the way of what the demo does in its clone.
const hostileGitConfig = `[commit]
	gpgSign = true
[push]
	default = nothing
[core]
	editor = false
	hooksPath = %s
	autocrlf = true
[pull]
	ff = only
`

// demoWish is what a command of the demo prints, and how it ends.
type demoWish struct {
	code int
	text string // a regular expression
}

// demoWishes are by step and command; other commands end with 0.
var demoWishes = map[string]demoWish{
	"1 fairlead status":                         {0, `(?m)^dev +\w+ +\S+ +verified +0 .*\n.*^stage +\w+ +\S+ +verified +0 .*\n.*^prod +\w+ +\S+ +verified +0 `},
	"1 fairlead explain promotion prod":         {0, `rollout: 2 of 2 clusters ready`},
	"2 fairlead wait prod":                      {0, `(?m)^prod has deployed \w+$`},
	"2 fairlead pr list":                        {0, `(?m)^\d+ +merged +prod +prod: .*\n\d+ +merged +stage .*\n\d+ +merged +dev `},
	"2 fairlead pr show prod":                   {0, `data\.GREETING: welcome -> ahoy`},
	"3 fairlead status":                         {0, `(?m)^dev +\w+ +\S+ +proposed .* merge pull request \d+, or run fairlead approve dev \w+ --removals: it removes hello-web from cloud and edge`},
	"3 fairlead pr show dev":                    {0, `(?s)^dev: REMOVE hello-web from cloud and edge\n\nopen, .*fairlead approve dev \w+ --removals.*\n-  name: "hello-web"\n`},
	"3 fairlead wait prod":                      {0, `(?m)^prod has deployed \w+$`},
	"4 fairlead wait dev":                       {1, `(?m)^fairlead: error: dev has not deployed \w+: Failed to deploy: \S+ failed on dev-\w+: .*$`},
	"5 fairlead status":                         {0, `(?m)^lane shop: dev has \w+, stage has \w+, prod has \w+$`},
	"5 fairlead explain promotion stage":        {0, `(?m)^hello +\w+ +waits +.*failed in dev`},
	"6 fairlead wait prod":                      {0, `(?m)^prod has deployed \w+$`},
	"7 fairlead hold prod":                      {0, `(?m)^prod is held until fairlead release prod `},
	"7 fairlead wait stage":                     {0, `(?m)^stage has deployed \w+$`},
	"7 fairlead explain promotion prod":         {0, `(?m)^Next: held: the sale ends on Monday `},
	"7 fairlead release prod":                   {0, `(?m)^prod is not held any more `},
	"7 fairlead wait prod":                      {0, `(?m)^prod has deployed \w+$`},
	"8 fairlead explain -e dev cloud/hello-web": {0, `(?m)^  GREETING = moin$`},
}

// demoAwaits are what a patient newcomer waits for, by step.
var demoAwaits = map[string]*regexp.Regexp{
	"3": regexp.MustCompile(`dev +its pull request waits for a person: it removes hello-web`),
	"5": regexp.MustCompile(`prod +gets \w+ of lane shop: `),
}

// TestDemoSteps types what the demo prints, literally, as a newcomer on a fresh machine does, and as one
// who does not wait to be told and has a configuration of Git that is in the way. It ends with Ctrl-C.
func TestDemoSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		patient bool // waits until the first terminal says so
		config  string
	}{
		{"a newcomer", true, ""},
		{"in a hurry", false, hostileGitConfig},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := startDemo(t, test.config)
			d.wishes = demoWishes
			d.waitFor(regexp.MustCompile(`Ctrl-C ends the demo\.\n`))
			printed := d.text()
			for _, c := range parseDemoSteps(printed) {
				if c.await != "" {
					if test.patient {
						d.waitFor(demoAwaits[c.step])
					}
					continue
				}
				d.typeCommand(c, test.patient)
			}
			if want := len(demoWishes) + 10; len(d.typed) < want {
				t.Errorf("%d commands were typed, fewer than %d, of\n%s", len(d.typed), want, printed)
			}
			d.checkPage()
			d.interrupt()
			if test.patient {
				d.checkDocument("../../README.md", "## Try it\n", "\nCtrl-C ends the demo", 2)
			}
		})
	}
}

// checkDocument sees that a section of a document shows what the demo prints and has typed, in so many
// blocks, and what the commands print, apart from what is another in each demo.
func (d *demoProcess) checkDocument(file, begin, end string, wanted int) {
	d.t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), begin)
	section, _, _ = strings.Cut(section, end)
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != wanted || !regexp.MustCompile(`(?m)^\$ (go run ./cmd/)?fairlead demo\b`).MatchString(blocks[0][1]) {
		d.t.Fatalf("%s has %d blocks, or none begins the demo", file, len(blocks))
	}
	seen := strings.Split(maskDemo(d.text()), "\n")
	typed := []string{}
	for _, c := range d.typed {
		typed = append(typed, maskDemo(c.text))
		seen = append(seen, strings.Split(maskDemo(c.out), "\n")...)
	}
	for i, block := range blocks {
		for line := range strings.Lines(maskDemo(block[1])) {
			line = strings.TrimSuffix(line, "\n")
			command, isCommand := strings.CutPrefix(line, "$ ")
			start, isCut := strings.CutSuffix(line, "…")
			switch {
			case isCommand && i == 0: // the clone, and the demo itself
			case isCommand:
				next := slices.Index(typed, command)
				if next < 0 {
					d.t.Errorf("the demo does not have %q typed, or in another order", command)
				}
				typed = typed[next+1:]
			case !slices.ContainsFunc(seen, func(s string) bool { return s == line || isCut && strings.HasPrefix(s, start) }):
				d.t.Errorf("nothing prints %q", line)
			}
		}
	}
}

// maskDemo replaces what is another in each demo.
func maskDemo(text string) string {
	for _, mask := range [][2]string{
		{`/[^ :']*fairlead-demo-[^ /\n]*`, "DIR"}, {`\b[0-9a-f]{7}\b`, "COMMIT"}, {`\b\d+:\d\d  `, "TIME  "}, {`(passed in|failed after) [0-9.]+m?s`, "$1 TIME"},
	} {
		text = regexp.MustCompile(mask[0]).ReplaceAllString(text, mask[1])
	}
	return text
}

// demoCommand is a command that the demo prints, and what it has printed in turn; or what to wait for
// before the next.
type demoCommand struct{ step, text, await, out string }

// parseDemoSteps returns what the second part of the demo says, in its order.
func parseDemoSteps(printed string) []demoCommand {
	var all []demoCommand
	_, steps, _ := strings.Cut(printed, "\nPart 2: ")
	steps, _, _ = strings.Cut(steps, "\nThe steps are in ")
	step := "0"
	title := regexp.MustCompile(`^(\d+)\. `)
	await := regexp.MustCompile(`When the first terminal says (so|"[^"]+")`)
	for paragraph := range strings.SplitSeq(steps, "\n\n") {
		if m := title.FindStringSubmatch(paragraph); m != nil {
			step = m[1]
		}
		if m := await.FindStringSubmatch(strings.Join(strings.Fields(paragraph), " ")); m != nil {
			all = append(all, demoCommand{step: step, await: strings.Trim(m[1], `"`)})
		}
		for line := range strings.Lines(paragraph) {
			if command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  "); ok {
				all = append(all, demoCommand{step: step, text: command})
			}
		}
	}
	return all
}

// demoProcess is a demo in a process of its own, and a shell in a second terminal.
type demoProcess struct {
	t               *testing.T
	process         *exec.Cmd
	home, temporary string
	env, shell      []string // shell is what was typed that stays, such as cd
	typed           []demoCommand
	wishes          map[string]demoWish
	ended           chan struct{}
	failed          error
	mu              sync.Mutex
	printed         strings.Builder
	news            chan struct{} // closed when more is printed
}

// startDemo starts a demo with clusters that take no time. Its machine is fresh: nobody has ever used Git
// or Fairlead there, unless there is a configuration of Git.
func startDemo(t *testing.T, config string, flags ...string) *demoProcess {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no demo")
	}
	program, err := exec.LookPath("fairlead")
	if err != nil {
		t.Fatal(err)
	}
	d := &demoProcess{t: t, home: t.TempDir(), temporary: t.TempDir(), ended: make(chan struct{}), news: make(chan struct{})}
	if config != "" {
		hooks := filepath.Join(d.home, "hooks")
		writeDemoFile(t, filepath.Join(hooks, "pre-commit"), "#!/bin/sh\nexit 1\n")
		writeDemoFile(t, filepath.Join(d.home, ".gitconfig"), fmt.Sprintf(config, hooks))
	}
	path := filepath.SplitList(os.Getenv("PATH"))
	path = slices.DeleteFunc(path, func(dir string) bool { return dir == filepath.Dir(program) })
	d.env = []string{"HOME=" + d.home, "TMPDIR=" + d.temporary, "PATH=" + strings.Join(path, string(filepath.ListSeparator)), "GIT_CONFIG_NOSYSTEM=1"}
	d.process = exec.Command(program, append([]string{"demo", "--pace", "0s", "--listen", "127.0.0.1:0"}, flags...)...)
	d.process.Env, d.process.Dir, d.process.Stdout, d.process.Stderr = d.env, d.home, d, d
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		d.failed = d.process.Wait()
	}()
	t.Cleanup(func() {
		_ = d.process.Process.Kill()
		<-d.ended
	})
	return d
}

func writeDemoFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Write takes in what the demo prints.
func (d *demoProcess) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.news)
	d.news = make(chan struct{})
	return d.printed.Write(p)
}

func (d *demoProcess) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.printed.String()
}

// waitFor waits until the demo has printed what matches.
func (d *demoProcess) waitFor(pattern *regexp.Regexp) { d.waitAfter(0, pattern) }

// waitAfter waits until the demo has printed what matches behind so many bytes, and returns where that
// ends.
func (d *demoProcess) waitAfter(offset int, pattern *regexp.Regexp) int {
	d.t.Helper()
	limit := time.After(demoLimit)
	for {
		d.mu.Lock()
		text, news := d.printed.String(), d.news
		d.mu.Unlock()
		if found := pattern.FindStringIndex(text[offset:]); found != nil {
			return offset + found[1]
		}
		select {
		case <-news:
		case <-d.ended:
			d.t.Fatalf("the demo has ended (%v) before it has printed %s:\n%s", d.failed, pattern, d.text())
		case <-limit:
			d.t.Fatalf("the demo does not print %s:\n%s", pattern, text)
		}
	}
}

// typeCommand types a command, and checks how it ends; what it prints depends on how far the daemon is,
// unless the user has waited.
func (d *demoProcess) typeCommand(c demoCommand, patient bool) {
	d.t.Helper()
	if c.step == "0" { // export and cd
		d.shell, d.typed = append(d.shell, c.text), append(d.typed, c)
		return
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), demoLimit)
	defer cancel()
	wish := demoWish{}
	for key, w := range d.wishes {
		if strings.HasPrefix(c.step+" "+c.text, key) {
			wish = w
		}
	}
	for {
		out, code := d.runShell(ctx, c.text)
		isWished := code == wish.code && (!patient || regexp.MustCompile(wish.text).MatchString(out))
		if !isWished && isReported.MatchString(c.text) && ctx.Err() == nil { // the ledger lacks the last second
			continue
		}
		c.out = out
		d.typed = append(d.typed, c)
		if !isWished {
			d.t.Fatalf("step %s: %s\nends with %d, not %d, or does not print %s:\n%s\nThe demo printed\n%s", c.step, c.text, code, wish.code, wish.text, out, d.text())
		}
		return
	}
}

// isReported matches the commands that print what is in the store of the ledger, which lacks what was
// reported within the last second.
var isReported = regexp.MustCompile(`^fairlead stack (show|list)\b`)

// runShell types a command in the second terminal, and returns what it prints, and how it ends.
func (d *demoProcess) runShell(ctx context.Context, command string) (out string, code int) {
	d.t.Helper()
	shell := exec.CommandContext(ctx, "sh", "-c", strings.Join(append(slices.Clone(d.shell), command), "\n"))
	shell.Env, shell.Dir = d.env, d.home
	printed, err := shell.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		d.t.Fatal(err)
	}
	return string(printed), code
}

// checkPage sees that the page shows the three environments with the commit that all have.
func (d *demoProcess) checkPage() {
	d.t.Helper()
	commit := regexp.MustCompile(`(?m)  prod +all clusters run (\w+)$`).FindAllStringSubmatch(d.text(), -1)
	page := regexp.MustCompile(`http://127[0-9.:]+/`).FindString(d.text())
	answer, err := http.Get(page)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || len(commit) == 0 || strings.Count(string(text), commit[len(commit)-1][1]) < 3 {
		d.t.Errorf("the page %s does not show %v in three environments (%v):\n%s", page, commit, err, text)
	}
}

// interrupt types Ctrl-C, and sees that nothing is left.
func (d *demoProcess) interrupt() {
	d.t.Helper()
	if err := d.process.Process.Signal(os.Interrupt); err != nil {
		d.t.Fatal(err)
	}
	<-d.ended
	if d.failed != nil || strings.Contains(d.text(), "fairlead: error: ") {
		d.t.Errorf("the demo ends with %v:\n%s", d.failed, d.text())
	}
	left, err := os.ReadDir(d.temporary)
	if err != nil || len(left) > 0 {
		d.t.Errorf("%v is left (%v)", left, err)
	}
	err = filepath.WalkDir(filepath.Join(d.home, ".cache"), func(path string, e os.DirEntry, err error) error {
		if strings.Contains(path, "fairlead-demo") {
			d.t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Error(err)
	}
}
