package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// scene is a daemon in a process of its own that will hang at one moment.
type scene struct {
	*testing.T
	server   *gittest.Server
	dir      string
	plane    string        // the URL of the control plane, "" for that of the server
	forge    string        // what the settings say of it
	more     string        // settings
	settings string        // a file that is read in the place of the settings; "" for them
	word     string        // that its log has at the moment; "" if something else tells
	working  time.Duration // CPU time that it spends from then until it is told to end
	pipe     *os.File
	reached  chan struct{}
	once     sync.Once
}

// reach notes that the moment has come.
func (s *scene) reach() { s.once.Do(func() { close(s.reached) }) }

// hang listens, and says nothing to whoever connects, until the test ends.
func (s *scene) hang() (address string) {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			s.reach()
		}
	})
	s.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}

// stall has requests for a repository hang until the test ends.
func (s *scene) stall(repo string, f gittest.Fault) {
	f.Stall, f.Before = true, s.reach
	s.server.Inject(repo, f)
}

// moments are those at which a daemon is told to end, with how it ends.
var moments = map[string]struct {
	prepare func(*scene)
	code    int
	says    string
}{
	"polling": {func(s *scene) { s.stall("acme/cp", gittest.Fault{Method: http.MethodGet}) }, 0, ""},
	"fetching": {func(s *scene) {
		s.server.Inject("acme/cp", gittest.Fault{Method: http.MethodPost, Times: 1}) // the references, by version 2
		s.stall("acme/cp", gittest.Fault{Method: http.MethodPost})
	}, 0, ""},
	"reading what is not in the mirror": {func(s *scene) {
		s.server.Inject("acme/out", gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost, Times: 1}) // the commits
		s.stall("acme/out", gittest.Fault{Service: "git-upload-pack", Method: http.MethodPost})
	}, 0, ""},
	"asking to push": {func(s *scene) {
		s.stall("acme/out", gittest.Fault{Service: "git-receive-pack", Method: http.MethodGet})
	}, 0, ""},
	"pushing": {func(s *scene) {
		s.stall("acme/out", gittest.Fault{Service: "git-receive-pack", Method: http.MethodPost})
	}, 0, ""},
	"asking a forge": {func(s *scene) {
		hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			s.reach()
			<-r.Context().Done()
		}))
		s.Cleanup(hanging.Close)
		s.forge = "kind: github, api: \"" + hanging.URL + "\""
		s.more = fmt.Sprintf("remotes: [{url: %q, token: {env: SIGNAL_TOKEN}}]\n", strings.TrimSuffix(s.server.URL("acme/out"), "acme/out.git"))
	}, 0, ""},
	"connecting by SSH": {func(s *scene) {
		address := s.hang()
		s.plane = "ssh://git@" + address + "/cp.git"
		keys := gittest.ServeSSH(s.T, s.dir)
		s.more = fmt.Sprintf("remotes: [{url: \"ssh://git@%s/\", ssh: {key: {file: %s}, knownHosts: %s}}]\n", address, keys.KeyFile, keys.KnownHosts)
	}, 0, ""},
	"waiting for a mirror": {func(s *scene) {
		mirror := filepath.Join(s.dir, "data", "git", giturl.FolderName(s.server.URL("acme/cp"))+".lock")
		if err := os.MkdirAll(filepath.Dir(mirror), 0o700); err != nil {
			s.Fatal(err)
		}
		unlock, err := lock.Acquire(s.Context(), mirror)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(unlock)
		s.more, s.word = "log: {level: debug}\n", "there is something to do"
	}, 0, ""},
	"rendering what takes long":        {func(s *scene) { s.burden(hostileTemplate(slowTemplate)) }, 0, ""},
	"checking with a schema":           {func(s *scene) { s.burden(hostileSchema(nestedRefs(13))) }, 0, ""},
	"reading one file again and again": {(*scene).repeat, 0, ""},
	"in what nothing can end": {func(s *scene) {
		s.settings = filepath.Join(s.dir, "pipe") // nobody writes into it
		if err := syscall.Mkfifo(s.settings, 0o600); err != nil {
			s.Fatal(err)
		}
		opened := make(chan struct{})
		go func() { // it can be opened when the daemon reads it
			defer close(opened)
			if f, err := os.OpenFile(s.settings, os.O_WRONLY, 0); err == nil {
				s.pipe = f
				s.reach()
			}
		}()
		s.Cleanup(func() {
			<-opened
			_ = s.pipe.Close()
		})
	}, 1, "stopped after 8s"},
}

// TestSignal: SIGTERM ends the daemon, wherever it is, and by itself but where nothing else can: it has 8 seconds by
// its own clock, which its exit code and its last words show.
func TestSignal(t *testing.T) {
	file := program(t)
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scene{T: t, server: gittest.Serve(t), dir: t.TempDir(), forge: "kind: git", reached: make(chan struct{})}
			s.begin()
			moment.prepare(s)
			code, stderr := s.run(file)
			if code != moment.code || strings.Contains(stderr, "stopped after") != (moment.says != "") || !strings.Contains(stderr, moment.says) {
				t.Errorf("it ends with code %d, and says\n%s", code, stderr)
			}
		})
	}
}

// begin makes a control plane and a GitOps repository on the server.
func (s *scene) begin() {
	s.Helper()
	s.server.Create("acme/cp")
	s.server.Create("acme/out")
	o := scaffold.Options{ControlPlane: s.server.URL("acme/cp"), GitOps: s.server.URL("acme/out"), Environments: []string{"dev"}, Sample: true}
	if err := repositories(o).Create(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// run starts the daemon, ends it when the moment has come, and gives its exit code.
func (s *scene) run(program string) (code int, stderr string) {
	s.Helper()
	plane := s.plane
	if plane == "" {
		plane = s.server.URL("acme/cp")
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s.server.URL("acme/out"), "http://"), "/acme/out.git")
	text := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: data\nlisten: \"\"\nwrite: true\nforges: [{host: %q, %s}]\n%s", plane, host, s.forge, s.more)
	file := s.settings
	if file == "" {
		file = filepath.Join(s.dir, "fairlead.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	command := exec.Command(program, "serve", "--config", file)
	command.Env = append(os.Environ(), "SIGNAL_TOKEN=token")
	said := &watched{word: s.word, seen: s.reach}
	command.Stderr = said
	if err := command.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() { ended <- command.Wait() })
	defer waiting.Wait()
	defer func() { _ = command.Process.Kill() }()
	outer := time.After(5 * time.Minute)
	select {
	case <-s.reached:
	case err := <-ended:
		s.Fatalf("it has ended before the moment: %v\n%s", err, said)
	case <-outer:
		s.Fatalf("the moment did not come; it says\n%s", said)
	}
	s.spend(command.Process.Pid, outer, said)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	var err error
	select {
	case err = <-ended:
	case <-outer:
		s.Fatalf("it does not end; it says\n%s", said)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return command.ProcessState.ExitCode(), said.String()
}

// watched is what a process writes, and somebody who waits for a word in it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	word string
	seen func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	if w.word != "" && strings.Contains(w.text.String(), w.word) {
		w.seen()
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
