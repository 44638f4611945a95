package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const (
	twinToken    = "FAIRLEAD_TWIN_TOKEN"
	twinChanges  = 5
	twinPatience = 120 // cycles of both that a change may take until one pull request has it, and stays
)

// twinHosts are the forges that two daemons meet on.
var twinHosts = map[string]func(t *testing.T) host{"gitea": giteaHost, "github": githubHost, "gitlab": gitlabHost}

// TestTwins lets two daemons, each a process with a data folder of its own, write for the
// same control plane. Gitea takes the second of two pull requests that are opened at once,
// so that both may open one; after each change, also when one of them is killed and begins
// anew, one that is open has it, and stays the only one.
func TestTwins(t *testing.T) {
	binary := program(t)
	for name, begin := range twinHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // daemons wait for their next cycle most of the time
			s := &twins{T: t, host: begin(t), binary: binary, dir: t.TempDir()}
			s.fill()
			for i := range s.daemons {
				s.daemons[i] = s.start(i)
			}
			s.settle("") // with what the scaffold has, and the record of the base
			for n := range twinChanges {
				value := fmt.Sprintf("change-%d", n)
				s.change(value)
				if n == twinChanges/2 {
					s.daemons[1].kill()
					s.daemons[1] = s.start(1)
				}
				pull := s.settle(value)
				if n%3 != 2 { // what comes then goes into the pull request that is open
					s.merge(pull.Number)
				}
			}
			s.checkEnded()
		})
	}
}

// The repositories on the stand-ins of the other forges.
const (
	fakeCP  = "acme/control-plane"
	fakeOut = "acme/gitops"
)

// host is a forge with the repositories.
type host struct {
	kind, server, api, token string
	cp, out                  string // the repositories
	access                   string // the server's URL for people, with what they need to push
	forge                    forge.Forge
	merge                    func(number int)
}

func (h host) secret(context.Context) (string, error) { return h.token, nil }

func giteaHost(t *testing.T) host {
	t.Helper()
	s, cp, out := newGitea(t)
	h := host{kind: "gitea", server: s.URL, token: s.Token, cp: cp, out: out, access: strings.TrimSuffix(s.Remote(out), "/"+out+".git")}
	h.merge = func(number int) { s.Merge(out, number) }
	var err error
	h.forge, err = gitea.New(forge.Options{API: s.URL, Repo: h.out, Token: h.secret, Now: time.Now})
	must(t, err)
	return h
}

func githubHost(t *testing.T) host {
	t.Helper()
	s := githubfake.Serve(t)
	s.Create(fakeCP)
	server := strings.TrimSuffix(s.Create(fakeOut), "/"+fakeOut+".git")
	h := host{kind: "github", server: server, access: server, api: s.API(), token: s.Token, cp: fakeCP, out: fakeOut}
	h.merge = func(number int) { s.Merge(fakeOut, number, false) }
	var err error
	h.forge, err = github.New(forge.Options{API: s.API(), Repo: h.out, Token: h.secret, Now: time.Now})
	must(t, err)
	return h
}

func gitlabHost(t *testing.T) host {
	t.Helper()
	s := gitlabfake.Serve(t)
	s.Create(fakeCP)
	server := strings.TrimSuffix(s.Create(fakeOut), "/"+fakeOut+".git")
	h := host{kind: "gitlab", server: server, access: server, api: s.API(), token: s.Token, cp: fakeCP, out: fakeOut}
	h.merge = func(number int) { s.Merge(fakeOut, number, gitlabfake.Merging{}) }
	var err error
	h.forge, err = gitlab.New(forge.Options{API: s.API(), Repo: h.out, Token: h.secret, Now: time.Now})
	must(t, err)
	return h
}

// twins are two daemons.
type twins struct {
	*testing.T
	host
	binary, dir string
	more        string // settings
	plane, look string // clones: of the control plane, and of the GitOps repository
	daemons     [2]*twin
}

// fill makes an environment dev, and what people need to look at it and to change it.
func (s *twins) fill() {
	s.Helper()
	o := scaffold.Options{ControlPlane: s.server + "/" + s.cp + ".git", GitOps: s.server + "/" + s.out + ".git", Environments: []string{"dev"}, Sample: true}
	plane, err := scaffold.ControlPlaneBranches(o)
	must(s.T, err)
	out, err := scaffold.GitOpsBranches(o)
	must(s.T, err)
	fillRemote(s.T, s.access+"/"+s.cp+".git", plane)
	fillRemote(s.T, s.access+"/"+s.out+".git", out)
	s.plane, s.look = filepath.Join(s.dir, "plane"), filepath.Join(s.dir, "look")
	gittest.Git(s, s.dir, "clone", "-q", "--branch", "dev", s.access+"/"+s.cp+".git", s.plane)
	gittest.Git(s, s.dir, "clone", "-q", "--mirror", s.access+"/"+s.out+".git", s.look)
}

// change commits a new value to the environment's branch, and wakes both daemons at once.
func (s *twins) change(value string) {
	s.Helper()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 90-twins, labels: {platform-config: \"true\"}}\ndata: {TWINS: " + value + "}\n"
	gittest.Git(s, s.plane, "pull", "-q", "--ff-only")
	must(s.T, os.WriteFile(filepath.Join(s.plane, "configs", "twins.yaml"), []byte(text), 0o644))
	gittest.Git(s, s.plane, "add", "-A")
	gittest.Git(s, s.plane, "commit", "-qm", value)
	gittest.Git(s, s.plane, "push", "-q", "origin", "dev")
	var woken sync.WaitGroup
	for _, d := range s.daemons {
		woken.Go(func() {
			answer, err := http.Post("http://"+d.address+"/api/v1/wake", "", nil)
			if err != nil {
				s.Error(err)
				return
			}
			_ = answer.Body.Close()
		})
	}
	woken.Wait()
}

// settle waits until one pull request is open and has a value, and both daemons have done
// two cycles in which that stayed so: the second of them began after it had become so.
func (s *twins) settle(value string) forge.Pull {
	s.Helper()
	var still [2]int
	why := ""
	for range twinPatience {
		who := s.await()
		var pull forge.Pull
		if pull, why = s.only(value); why != "" {
			still = [2]int{}
			continue
		}
		if still == [2]int{} {
			s.daemons[0].forget()
			s.daemons[1].forget()
		}
		if still[who]++; min(still[0], still[1]) > 2 {
			return pull
		}
	}
	s.Fatalf("%s: after %d cycles %s\n%s", value, twinPatience, why, s.logs())
	return forge.Pull{}
}

// only returns the one pull request that is open and has a value, or what is not so.
func (s *twins) only(value string) (forge.Pull, string) {
	s.Helper()
	open, err := s.forge.OpenPulls(s.Context())
	must(s.T, err)
	if len(open) != 1 {
		return forge.Pull{}, fmt.Sprintf("%d pull requests are open", len(open))
	}
	p := open[0]
	if p.Mark != "dev" || p.Head != "fairlead/dev" || p.Base != "dev" {
		return p, fmt.Sprintf("the one that is open is of %q, from %s to %s", p.Mark, p.Head, p.Base)
	}
	gittest.Git(s, s.look, "fetch", "-q", "--prune", "origin")
	// The branch may have gone since the pull requests were listed.
	head := gittest.Git(s, s.look, "for-each-ref", "--format=%(objectname)", "refs/heads/fairlead/dev")
	if head != p.Commit {
		return p, fmt.Sprintf("the one that is open is at %.12s, and its branch at %.12s", p.Commit, head)
	}
	command := exec.CommandContext(s.Context(), "git", "grep", "-q", value, p.Commit)
	command.Dir = s.look
	if command.Run() != nil {
		return p, fmt.Sprintf("pull request %d does not have it", p.Number)
	}
	return p, ""
}

// checkEnded sees that each pull request that nobody has merged was closed with a word.
func (s *twins) checkEnded() {
	s.Helper()
	all, err := s.forge.Pulls(s.Context(), "fairlead/dev", "dev")
	must(s.T, err)
	closed := 0
	for _, p := range all {
		if p.State != forge.Closed {
			continue
		}
		if closed++; !strings.HasSuffix(p.Reason, "which is older, proposes the same.") {
			s.Errorf("pull request %d was closed, and says %q", p.Number, p.Reason)
		}
	}
	s.Logf("%d pull requests, of which %d were the second of two", len(all), closed)
}

// await waits for the end of a cycle, and returns whose it was.
func (s *twins) await() int {
	s.Helper()
	ok, who := false, 0
	select {
	case _, ok = <-s.daemons[0].cycles:
	case _, ok = <-s.daemons[1].cycles:
		who = 1
	case <-time.After(chaosLimit):
		s.Fatalf("both daemons are silent\n%s", s.logs())
	}
	if !ok {
		s.Fatalf("daemon %d has ended\n%s", who, s.logs())
	}
	return who
}

// logs returns what both have said last.
func (s *twins) logs() string {
	text := ""
	for i, d := range s.daemons {
		d.mu.Lock()
		text += fmt.Sprintf("the log of daemon %d:\n%s\n", i, strings.Join(d.tail, "\n"))
		d.mu.Unlock()
	}
	return text
}

// twin is one daemon, and what it says.
type twin struct {
	command *exec.Cmd
	address string
	cycles  chan struct{} // one for each cycle that has ended; closed when the daemon has
	read    chan struct{} // closed when the log has been read

	mu   sync.Mutex
	tail []string
}

// start starts a daemon with the data folder of its number, and waits until it listens.
func (s *twins) start(number int) *twin {
	s.Helper()
	settings := filepath.Join(s.dir, fmt.Sprintf("twin%d.yaml", number))
	api := ""
	if s.api != "" {
		api = fmt.Sprintf(", api: %q", s.api)
	}
	must(s.T, os.WriteFile(settings, fmt.Appendf(nil, `controlPlane: {repo: %q}
dataDir: %q
write: true
timeout: 1m
listen: 127.0.0.1:0
log: {level: debug, format: json}
schedule: {interval: 1s}
forges: [{host: %q, kind: %s%s}]
remotes: [{url: %q, token: {env: %s}}]
%s`, s.server+"/"+s.cp+".git", filepath.Join(s.dir, fmt.Sprintf("data%d", number)), strings.TrimPrefix(s.server, "http://"), s.kind, api, s.server+"/", twinToken, s.more), 0o600))
	d := &twin{command: exec.Command(s.binary, "serve", "--config", settings), cycles: make(chan struct{}, 10000), read: make(chan struct{})}
	d.command.Env = append(os.Environ(), twinToken+"="+s.token)
	stderr, err := d.command.StderrPipe()
	must(s.T, err)
	must(s.T, d.command.Start())
	s.Cleanup(d.kill)
	address := make(chan string, 1)
	go func() {
		defer close(d.read)
		defer close(d.cycles)
		log := bufio.NewScanner(stderr)
		log.Buffer(nil, 64<<20)
		for log.Scan() {
			d.listen(log.Bytes(), address)
		}
	}()
	select {
	case d.address = <-address:
	case <-d.read:
		s.Fatalf("daemon %d has ended before it listened: %s", number, strings.Join(d.tail, "\n"))
	}
	return d
}

// listen takes a line of the log.
func (d *twin) listen(text []byte, address chan<- string) {
	d.mu.Lock()
	d.tail = append(d.tail[max(0, len(d.tail)-60):], string(text))
	d.mu.Unlock()
	var l line
	if json.Unmarshal(text, &l) != nil {
		return // what Go prints of a panic
	}
	switch l.Msg {
	case "listening":
		address <- l.Address
	case "cycle":
		d.cycles <- struct{}{}
	}
}

// forget forgets the cycles that nobody has waited for.
func (d *twin) forget() {
	for len(d.cycles) > 0 {
		<-d.cycles
	}
}

// kill ends the daemon as a power failure would.
func (d *twin) kill() {
	_ = d.command.Process.Kill()
	<-d.read
	_ = d.command.Wait()
}
