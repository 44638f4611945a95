package browsertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// demoPatience bounds what the demo takes, on any machine.
const demoPatience = 5 * time.Minute

// output is what a command prints. Its methods may be called at the same time.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	found chan struct{} // closed when until is printed
}

// Write takes in what the command prints.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if o.until != "" && strings.Contains(o.text.String(), o.until) {
		o.until = ""
		close(o.found)
	}
	return n, err
}

// String returns what the command has printed.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startDemo starts fairlead demo, waits for the end of its first part, and returns the URL of its page. The
// test then is in the clone of the control plane.
func startDemo(t *testing.T, flags ...string) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir, printed := filepath.Join(t.TempDir(), "demo"), &output{until: "Ctrl-C ends the demo.", found: make(chan struct{})}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(ctx, append([]string{"demo", "--pace", "0s", "--listen", "127.0.0.1:0", "--dir", dir}, flags...), printed, printed)
		close(ended)
	}()
	t.Cleanup(func() { end(); <-ended })
	select {
	case <-printed.found:
	case code := <-ended:
		t.Fatalf("the demo ends with %d:\n%s", code, printed)
	case <-time.After(demoPatience):
		t.Fatalf("the demo does not go on:\n%s", printed)
	}
	t.Chdir(filepath.Join(dir, "control-plane"))
	return strings.TrimSuffix(regexp.MustCompile(`http://127[0-9.:]+/`).FindString(printed.String()), "/")
}

// runFairlead runs a command in the clone, which must end with a code.
func runFairlead(t *testing.T, code int, arguments ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), demoPatience)
	defer cancel()
	printed := &output{}
	if got := cli.Main(ctx, arguments, printed, printed); got != code {
		t.Fatalf("fairlead %s ends with %d, not %d:\n%s", strings.Join(arguments, " "), got, code, printed)
	}
}

// pushChange replaces a text in a file of the control plane, and returns the commit.
func pushChange(t *testing.T, file, from, to, subject string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(from).ReplaceAllString(string(content), to)
	if changed == string(content) {
		t.Fatalf("%s has no %s:\n%s", file, from, content)
	}
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	runGit(t, "commit", "-qam", subject)
	runGit(t, "push", "-q")
	return runGit(t, "rev-parse", "HEAD")
}

func runGit(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command("git", arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// visit counts the clicks with which a newcomer finds an answer, beginning at the overview.
type visit struct {
	*Window
	question string
	clicks   int
}

func (w *Window) ask(root, question string) *visit {
	w.t.Helper()
	w.Visit(root + "/")
	return &visit{w, question, 0}
}

func (v *visit) click(selector string) *visit {
	v.t.Helper()
	v.clicks++
	v.Click(selector)
	return v
}

// answers checks that the page says something, and that it was found with two clicks at most.
func (v *visit) answers(text string) {
	v.t.Helper()
	v.WaitFor("main", text)
	if v.clicks > 2 {
		v.t.Errorf("%s takes %d clicks", v.question, v.clicks)
	}
}

// answersAll checks that the page says more, whatever spaces are between its words.
func (w *Window) answersAll(texts ...string) {
	w.t.Helper()
	shown := strings.Join(strings.Fields(w.Text("main")), " ")
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			w.t.Errorf("%q is not on the page %s:\n%s", text, w.Address(), shown)
		}
	}
}

// TestDemo: a newcomer finds the answers to the questions that people ask most on the pages of the demo,
// with and without script, with two clicks each at most; each link of the pages leads to a page.
func TestDemo(t *testing.T) {
	browser := Start(t)
	root := startDemo(t)
	hold := browser.Open(t, View{Width: 1280}) // the demo signs in who is on this machine
	hold.Visit(root + "/environments/prod")
	hold.WaitFor("#local", "This is the demo")
	hold.Click(`main a[href*="levers/hold"]`)
	hold.Submit(`main input[name="reason"]`, "the sale ends on Monday")
	hold.WaitFor("main", "Written as")
	mine := pushChange(t, "configs/fleet.yaml", "GREETING: .*", "GREETING: moin", "Greet with moin")
	runFairlead(t, 0, "wait", "stage", mine, "--interval", "1s")
	broken := pushChange(t, "workloads/hello.yaml", "branch: master", "branch: mastre", "Deploy from another branch")
	runFairlead(t, 1, "wait", "dev", broken, "--interval", "1s")
	windows := []*Window{browser.Open(t, View{Width: 400}), browser.Open(t, View{Width: 1280})}
	for _, w := range windows {
		findAnswers(w, root, mine, "2026")
	}
	for _, width := range []int{400, 1280} {
		windows = append(windows, browser.Open(t, View{Width: width, Script: true}))
		findAnswers(windows[len(windows)-1], root, mine, " ago")
	}
	pushChange(t, "workloads/hello.yaml", "app: hello", "app: helo", "Tidy the labels")
	live := browser.Open(t, View{Width: 1280, Script: true})
	live.Visit(root + "/environments/dev")
	live.WaitFor("main", "what it changes")
	for _, w := range windows {
		readPull(w, root)
	}
	crawl(t, root)
}

// findAnswers asks what the demo answers after a commit that is held before prod, and one that fails. Times have the text
// when.
func findAnswers(w *Window, root, mine, when string) {
	w.t.Helper()
	w.ask(root, "1: what needs me now?").answers(`hello-web failed on dev-cloud: branch "mastre" does not exist`)
	w.ask(root, "2: where is my commit?").click(`main a[href="./commits/` + mine + `"]`).answers("has it since")
	w.ask(root, "3: why is it not in prod?").click(`main a[href="./commits/` + mine + `"]`).answers("the sale ends on Monday")
	w.Click(`main a[href$="/forecast"]`)
	w.WaitFor("main", "the sale ends on Monday") // and when does it get there?
	w.ask(root, "4: what failed?").click(`nav a[href="./problems"]`).answers(`branch "mastre" does not exist`)
	w.ask(root, "5: what runs where?").click(`nav a[href="./fleet"]`).answers("hello")
	w.Click(`main a[href="./workloads/hello"]`)
	w.WaitFor("#releases", "in prod, runs on 1 cluster") // and since when?
	w.ask(root, "7: what is different between stage and prod?").click(`main li a[href="./environments/prod"]`).click(`main a[href="../diff?from=stage&to=prod"]`).answers("GREETING: moin → welcome")
	w.answersAll("1 on its way", "1 meant", "1 commit only in stage")
	w.Click("main .why a") // the reason of the line
	w.WaitFor("main .explained", "assigned")
	w.ask(root, "9: who did what, when and why?").click(`nav a[href="./history"]`).answers("the sale ends on Monday")
	w.answersAll("Demo held prod", "Fairlead promoted prod from", when, "after: ")
	w.Visit(root + "/environments/stage") // what a pull request meant that is merged
	w.Click(`main a[href*="/pulls/"]`)
	w.WaitFor("main", "What it changed")
	w.answersAll("merged", "config values only", "data.GREETING: welcome -> moin", "1 commit came with it", "Greet with moin")
	w.Visit(root + "/cluster-types/cloud")
	w.WaitFor("#clusters", "failed")
	w.WaitFor("#late", "cloud/hello-web")
	w.Click(`main a[href="../clusters/dev-cloud"]`)
	w.WaitFor("main details", "couldn't find remote ref")
	w.Visit(root + "/fleet?rows=target") // the assignment that failed is failed on all pages
	w.WaitFor("main .matrix", "failed")
	w.Visit(root + "/assignments/dev/cloud/hello-web")
	w.WaitFor("main h1 + .tag", "failed")
	w.answersAll("dev-cloud: ", `branch "mastre" does not exist`, "on 1 cluster")
	explained := w.ask(root, "8: why has it this value?").click(`main li a[href="./environments/prod"]`)
	explained.clicks++
	explained.Submit(`main input[name="q"]`, "cloud/hello-web")
	explained.answers("GREETING = welcome")
}

// readPull asks what a pull request changes, why, and where that is written.
func readPull(w *Window, root string) {
	w.t.Helper()
	w.ask(root, "6: what does this pull request change?").click(`main a[href*="/pulls/"]`).answers("REMOVE")
	w.Click(`main .why a[href="../../../assignments/dev/cloud/hello-web"]`) // it runs until that is merged
	w.answersAll("removal proposed", "until pull request")
	w.Click(`main a[href*="explain?"]`)
	w.WaitFor("main .explained", "workloads/hello.yaml:") // why, and the line
	w.Visit(root + "/fleet?env=dev")
	w.Click(`main .matrix a[href*="/pulls/"]`)
	w.answersAll("REMOVE")
}

// TestStackDemo: each link of the pages of the demo of a stack leads to a page, also to those of plans.
func TestStackDemo(t *testing.T) {
	root := startDemo(t, "--stack")
	plans := 0
	for address := range crawl(t, root) {
		if strings.HasPrefix(address, root+"/stacks/shop/dev/runs/") {
			plans++
		}
	}
	if plans == 0 {
		t.Error("no link leads to a plan")
	}
}
