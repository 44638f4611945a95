package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// chaosActions are what may happen in a step. What stands here more than once happens
// more often.
var chaosActions = []func(*chaos){
	(*chaos).commitHostileFile, (*chaos).commitHostileFile, (*chaos).commitHostileFile,
	(*chaos).mutateFile, (*chaos).mutateFile,
	(*chaos).pushHostileTree,
	(*chaos).mendOne, (*chaos).mendOne,
	(*chaos).breakServer,
	(*chaos).killAndStart, (*chaos).stopAndStart,
	(*chaos).meddleWithOutput,
}

// target chooses a branch for a hostile commit.
func (c *chaos) target() (repo, branch string) {
	repo, branch, _ = strings.Cut(chaosTargets[c.random.IntN(len(chaosTargets))], " ")
	return repo, branch
}

// work is a clone at a branch, whatever that holds. It is nil if Git itself cannot check
// that out.
func (c *chaos) work(repo, branch string) *gittest.Work {
	c.Helper()
	w := c.clones[repo]
	command := exec.Command("git", "fetch", "-q", "origin")
	command.Dir = w.Dir
	if command.Run() != nil {
		return nil
	}
	command = exec.Command("git", "-c", "core.protectNTFS=false", "checkout", "-qf", "--no-track", "-B", branch, "refs/remotes/origin/"+branch, "--")
	command.Dir = w.Dir
	if command.Run() != nil {
		return nil
	}
	return w
}

// commitHostileFile puts a text onto a branch that somebody could not have meant well.
func (c *chaos) commitHostileFile() {
	c.Helper()
	repo, branch := c.target()
	hostile := hostileFiles[c.random.IntN(len(hostileFiles))]
	w := c.work(repo, branch)
	if w == nil {
		c.mend(repo + " " + branch)
		return
	}
	c.hostile++
	c.note("hostile file %q to %s %s", hostile.name, repo, branch)
	name := filepath.Join(w.Dir, hostile.path)
	_ = os.RemoveAll(name)
	_ = os.MkdirAll(filepath.Dir(name), 0o755)
	var err error
	if hostile.link {
		err = os.Symlink(hostile.text, name)
	} else {
		err = os.WriteFile(name, []byte(hostile.text), 0o644)
	}
	if err != nil { // a hostile file of before is in the way
		c.mend(repo + " " + branch)
		return
	}
	w.Commit("Hostile: " + hostile.name)
	w.Push(branch)
}

// mutateFile damages one file of a branch in one place.
func (c *chaos) mutateFile() {
	c.Helper()
	repo, branch := c.target()
	w := c.work(repo, branch)
	if w == nil {
		c.mend(repo + " " + branch)
		return
	}
	var names []string
	for _, name := range strings.Split(gittest.Git(c, w.Dir, "ls-files", "-z"), "\x00") {
		if info, err := os.Lstat(filepath.Join(w.Dir, name)); err == nil && info.Mode().IsRegular() && info.Size() > 0 && strings.HasSuffix(name, ".yaml") && !strings.Contains(name, "calm") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	name := names[c.random.IntN(len(names))]
	data, err := os.ReadFile(filepath.Join(w.Dir, name))
	c.must(err)
	text, how := c.mutate(string(data))
	c.hostile++
	c.note("%s of %s in %s %s", how, name, repo, branch)
	w.Write(name, text)
	w.Commit("Mutated: " + how + " of " + name)
	w.Push(branch)
}

// mutate changes a text in one place, and says how.
func (c *chaos) mutate(text string) (changed, how string) {
	lines := strings.SplitAfter(text, "\n")
	i := c.random.IntN(len(lines))
	switch c.random.IntN(6) {
	case 0:
		return strings.Join(slices.Delete(lines, i, i+1), ""), "a line removed"
	case 1:
		return strings.Join(slices.Insert(lines, i, lines[i]), ""), "a line doubled"
	case 2:
		at := c.random.IntN(len(text))
		return text[:at] + string(rune(c.random.IntN(128))) + text[at+1:], "a byte replaced"
	case 3:
		return text[:c.random.IntN(len(text))], "the end cut off"
	case 4:
		return text + "\n---\n" + text, "everything doubled"
	}
	key, _, found := strings.Cut(lines[i], ":")
	if !found {
		return text, "nothing"
	}
	value := hostileValues[c.random.IntN(len(hostileValues))]
	lines[i] = key + ": " + value + "\n"
	return strings.Join(lines, ""), fmt.Sprintf("%s set to %.40q", strings.TrimSpace(key), value)
}

// pushHostileTree puts a tree onto a branch that Git would never write.
func (c *chaos) pushHostileTree() {
	c.Helper()
	repo, branch := c.target()
	dir := c.server.Dir(repo)
	blob := gittest.Git(c, dir, "hash-object", "-w", "-t", "blob", "/dev/null")
	root := gittest.Git(c, dir, "rev-parse", "refs/heads/"+branch+"^{tree}")
	names := []string{"..", ".", ".git", ".GIT", "a/b", "x\ny", "con", "\u200c.git", strings.Repeat("n", 5000)}
	name := names[c.random.IntN(len(names))]
	mode := []string{"100644", "040000", "120000", "160000"}[c.random.IntN(4)]
	id := map[string]string{"040000": root, "160000": strings.Repeat("1", 40)}[mode]
	if id == "" {
		id = blob
	}
	raw := exec.Command("git", "cat-file", "tree", root)
	raw.Dir = dir
	before, err := raw.Output()
	c.must(err)
	entry := strings.TrimPrefix(mode, "0") + " " + name + "\x00" + rawID(id)
	write := exec.Command("git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	write.Dir, write.Stdin = dir, strings.NewReader(string(before)+entry)
	tree, err := write.Output()
	c.must(err)
	commit := gittest.Git(c, dir, "-c", "user.name=a", "-c", "user.email=a@git.example", "commit-tree", "-p", "refs/heads/"+branch, "-m", "Hostile tree", strings.TrimSpace(string(tree)))
	gittest.Git(c, dir, "update-ref", "refs/heads/"+branch, commit)
	c.torn = c.torn || repo+" "+branch == "cp main"
	c.hostile++
	c.note("tree entry %s %.20q to %s %s", mode, name, repo, branch)
}

// rawID returns the bytes of an object id.
func rawID(id string) string {
	var b strings.Builder
	for i := 0; i < len(id); i += 2 {
		var n byte
		_, _ = fmt.Sscanf(id[i:i+2], "%02x", &n)
		b.WriteByte(n)
	}
	return b.String()
}

func (c *chaos) mendOne() {
	c.Helper()
	c.mend(chaosTargets[c.random.IntN(len(chaosTargets))])
}

// mend takes a branch back to what was in order, by a commit on top. What was promoted to
// an environment stays promoted.
func (c *chaos) mend(at string) {
	c.Helper()
	repo, branch, _ := strings.Cut(at, " ")
	dir := c.server.Dir(repo)
	commit := gittest.Git(c, dir, "-c", "user.name=a", "-c", "user.email=a@git.example", "commit-tree",
		"-p", "refs/heads/"+branch, "-m", "As it was when all was well", c.good[at]+"^{tree}")
	gittest.Git(c, dir, "update-ref", "refs/heads/"+branch, commit)
	c.torn = c.torn && at != "cp main"
	c.note("%s mended", at)
}

// breakServer makes requests for one repository fail, until the servers are well again.
func (c *chaos) breakServer() {
	c.Helper()
	faults := []gittest.Fault{
		{Status: http.StatusInternalServerError, Body: "<html>oops</html>"},
		{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"31536000"}}},
		{Status: http.StatusUnauthorized}, {Status: http.StatusNotFound}, {Reset: true}, {Stall: true},
		{CutAfter: 30}, {Truncate: 50}, {Status: http.StatusOK, Body: "<html>a login page</html>"},
		{Service: "git-receive-pack", Status: http.StatusForbidden}, {Service: "git-receive-pack", CutAfter: 10},
	}
	repo := []string{"cp", "out", "shop"}[c.random.IntN(3)]
	n := c.random.IntN(len(faults))
	c.faults++
	c.note("fault %d of the server of %s", n, repo)
	c.healed = append(c.healed, c.server.Inject(repo, faults[n]))
}

func (c *chaos) killAndStart() {
	c.Helper()
	c.note("kill")
	c.wake()
	if c.random.IntN(2) == 0 {
		c.until("cycle")
	}
	c.kill()
	if c.random.IntN(4) == 0 {
		c.data++ // and the disk is lost
		c.note("the data folder is lost")
	}
	c.start()
}

func (c *chaos) stopAndStart() {
	c.Helper()
	c.note("SIGTERM")
	c.wake()
	c.stop()
	c.start()
}

// meddleWithOutput does what people do to what is proposed.
func (c *chaos) meddleWithOutput() {
	c.Helper()
	dir := c.server.Dir("out")
	environment := []string{"dev", "stage"}[c.random.IntN(2)]
	ours, theirs := "refs/heads/fairlead/"+environment, "refs/heads/"+environment
	head := gittest.Refs(c, dir)[ours]
	if head == "" {
		return
	}
	n := c.random.IntN(3)
	c.note("what is proposed for %s: %s", environment, []string{"merged", "branch removed", "a commit of a person on it"}[n])
	switch n {
	case 0:
		gittest.Git(c, dir, "update-ref", theirs, head)
	case 1:
		gittest.Git(c, dir, "update-ref", "-d", ours)
	case 2:
		person := gittest.Git(c, dir, "-c", "user.name=a", "-c", "user.email=a@git.example", "commit-tree", "-p", head, "-m", "By hand", head+"^{tree}")
		gittest.Git(c, dir, "update-ref", ours, person)
		gittest.Git(c, dir, "update-ref", theirs, person) // and it is merged, so that updates go on
	}
}
