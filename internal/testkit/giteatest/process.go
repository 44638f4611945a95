package giteatest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// PageSize is how many of a list the server gives at once at most. It is small, so
// that tests need not make many to see more than one page.
const PageSize = 10

// settings are those of a server of a test: it keeps what it can in memory, and
// may call webhooks on this machine, which it does not by itself.
const settings = `RUN_MODE = prod
WORK_PATH = %[1]s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true

[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]d
ROOT_URL = http://127.0.0.1:%[2]d/
STATIC_ROOT_PATH = %[3]s
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
SQLITE_TIMEOUT = 20000
SQLITE_JOURNAL_MODE = WAL

[security]
INSTALL_LOCK = true
SECRET_KEY = not-a-secret
INTERNAL_TOKEN = %[5]s
PASSWORD_HASH_ALGO = pbkdf2$1$50

[repository]
SCRIPT_TYPE = sh
ROOT = %[1]s/repositories
DEFAULT_BRANCH = main

[git.config]
core.hooksPath = %[6]s
gc.auto = 0
maintenance.auto = false
receive.autogc = false

[indexer]
ISSUE_INDEXER_TYPE = db

[queue]
TYPE = channel

[api]
MAX_RESPONSE_ITEMS = %[4]d

[webhook]
ALLOWED_HOST_LIST = loopback

[log]
MODE = console
LEVEL = warn

[service]
DISABLE_REGISTRATION = true

[cron]
ENABLED = false

[actions]
ENABLED = true

[packages]
ENABLED = false
`

// startProcess starts the server on a port that was free a moment ago; if it is taken by
// then, on another one.
func (s *Server) startProcess(atEnd func(func())) error {
	for range 3 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
		text := fmt.Sprintf(settings, filepath.ToSlash(s.dir), port, filepath.ToSlash(filepath.Join(s.bin, "static")), PageSize,
			s.internalToken, filepath.ToSlash(s.path(hooksName)))
		if err := os.WriteFile(s.path("app.ini"), []byte(text), 0o600); err != nil {
			return err
		}
		if err := s.run(atEnd); err != nil {
			return err
		}
		if err := s.waitUntil("start Gitea", s.answers); !errors.Is(err, errEnded) {
			return err
		}
	}
	return fmt.Errorf("the server does not start: %s", s.tail())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) answers() (bool, error) {
	status, _, err := s.newRequest("", http.MethodGet, "/version", nil)
	return err == nil && status == http.StatusOK, s.t.Context().Err()
}

// run starts the process. It has ended when the test has, and when our process has.
func (s *Server) run(atEnd func(func())) error {
	log, err := os.Create(s.path("log"))
	if err != nil {
		return err
	}
	if err := s.writeHooks(); err != nil {
		return err
	}
	ran := s.prepare("web")
	ran.Stdout, ran.Stderr = log, log
	endWithUs(ran)
	started, done := make(chan error), make(chan struct{})
	s.done = done
	go func() {
		defer close(done)
		runtime.LockOSThread() // the system takes the end of the thread that started it for ours
		defer runtime.UnlockOSThread()
		err := ran.Start()
		started <- err
		if err == nil {
			_ = ran.Wait() // how it ends says nothing: it is told to
		}
	}()
	if err := errors.Join(<-started, log.Close()); err != nil {
		return err
	}
	atEnd(func() { stop(ran, done) })
	return nil
}

// stop ends a process: it is asked to, and killed if it goes on.
func stop(ran *exec.Cmd, done <-chan struct{}) {
	_ = ran.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = ran.Process.Kill()
		<-done
	}
}

// prepare makes a command of Gitea's that reads only our settings. It lives too short a time
// for its garbage to matter.
func (s *Server) prepare(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, "gitea"), append(args, "--config", s.path("app.ini"))...)
	c.Dir = s.dir
	c.Env = append(without(os.Environ(), "GIT_", "GITEA_", "XDG_", "HTTP_PROXY", "http_proxy"), "HOME="+s.dir, "GIT_CONFIG_NOSYSTEM=1", "GOGC=400")
	return c
}

// without returns an environment without the variables that begin so.
func without(all []string, prefixes ...string) []string {
	var kept []string
	for _, v := range all {
		drop := false
		for _, p := range prefixes {
			drop = drop || strings.HasPrefix(v, p)
		}
		if !drop {
			kept = append(kept, v)
		}
	}
	return kept
}

// newCommand runs a command of Gitea's beside the server.
func (s *Server) newCommand(args ...string) {
	s.t.Helper()
	if out, err := s.prepare(args...).CombinedOutput(); err != nil {
		s.t.Fatalf("gitea %s: %v\n%s", strings.Join(args[:min(3, len(args))], " "), err, out)
	}
}

// tail returns the end of what the server printed.
func (s *Server) tail() string {
	all, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(all[max(0, len(all)-2000):])
}
