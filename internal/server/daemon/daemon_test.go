package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/daemon"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// began makes the repositories that a new user begins with, and gives their options.
func began(t *testing.T) (dir string, o scaffold.Options) {
	t.Helper()
	dir = t.TempDir()
	o = scaffold.Options{
		ControlPlane: filepath.Join(dir, "plane.git"), GitOps: filepath.Join(dir, "out.git"),
		Environments: []string{"dev", "prod"}, Sample: true,
	}
	if err := repositories(o).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir, o
}

func repositories(o scaffold.Options) daemon.Repositories {
	return daemon.Repositories{
		Content: o, Author: git.Signature{Name: "somebody", Email: "somebody@git.example"}, When: time.Unix(0, 0),
	}
}

// settings reads a settings file that has this text.
func settings(t *testing.T, dir, text string) *config.Settings {
	t.Helper()
	s, problems := config.Parse("fairlead.yaml", []byte(text), dir, func(string) string { return "" })
	if problems.Stops() {
		t.Fatal(problems)
	}
	return s
}

// limited ends a daemon that does not end by itself.
func limited(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 5*time.Minute)
}

// ask gives the status and the body of an answer.
func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestServe asks at each stage what the daemon says, wakes it, and ends it. The next
// cycle by itself would be in an hour.
func TestServe(t *testing.T) {
	dir, _ := began(t)
	ctx, stop := limited(t)
	defer stop()
	base, cycles := "", 0
	var log bytes.Buffer
	err := daemon.Serve(ctx, daemon.Options{
		Settings: settings(t, dir, "controlPlane: {repo: plane.git}\nlisten: 127.0.0.1:0\ndataDir: data\nschedule: {interval: 1h}\nwrite: true\n"),
		Version:  "v1", Log: &log,
		Ready: func(address string) {
			base = "http://" + address
			if text, err := os.ReadFile(filepath.Join(dir, "data", "lock")); err != nil || string(text) != fmt.Sprintf("%d\n%s\n", os.Getpid(), address) {
				t.Errorf("the lock says %q: %v", text, err)
			}
			if code, body := ask(t, "GET", base+"/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("before the first cycle /readyz is %d: %s", code, body)
			}
			if code, _ := ask(t, "GET", base+"/healthz"); code != http.StatusOK {
				t.Errorf("/healthz is %d", code)
			}
		},
		After: func(s status.Snapshot) {
			cycles++
			if cycles == 2 {
				stop()
				return
			}
			if code, body := ask(t, "GET", base+"/readyz"); code != http.StatusOK {
				t.Errorf("/readyz is %d: %s", code, body)
			}
			checkStatus(t, base, s)
			checkExamination(ctx, t, base)
			if code, body := ask(t, "GET", base+"/metrics"); code != http.StatusOK || !strings.Contains(body, `version="v1"`) {
				t.Errorf("/metrics is %d: %s", code, body)
			}
			if code, body := ask(t, "POST", base+"/api/v1/wake"); code != http.StatusAccepted {
				t.Errorf("/api/v1/wake is %d: %s", code, body)
			}
		},
	})
	if err != nil || cycles != 2 {
		t.Errorf("it ended with %v, after %d cycles", err, cycles)
	}
	if !strings.Contains(log.String(), "msg=listening address="+strings.TrimPrefix(base, "http://")) {
		t.Errorf("the log does not say where it listens:\n%s", &log)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")); err == nil {
		t.Error("somebody still listens")
	}
}

// checkExamination waits until the daemon has checked its set-up beside its cycles, and sees what it found.
func checkExamination(ctx context.Context, t *testing.T, base string) {
	t.Helper()
	var answer struct{ Examination status.Examination }
	for ctx.Err() == nil && answer.Examination.When.IsZero() {
		_, body := ask(t, "GET", base+"/api/v1/health")
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range answer.Examination.Findings {
		got = append(got, string(f.Level)+" "+f.Subject[strings.LastIndex(f.Subject, "/")+1:])
	}
	if diff := cmp.Diff([]string{"ok out.git: forge", "ok plane.git: forge", "ok git", "ok mirrors", "ok settings: write"}, got); diff != "" {
		t.Errorf("the checks of the set-up (-want +got):\n%s", diff)
	}
}

// checkStatus sees that the API says what Options.After is told.
func checkStatus(t *testing.T, base string, s status.Snapshot) {
	t.Helper()
	_, body := ask(t, "GET", base+"/api/v1/status")
	var answer struct {
		Environments []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	var got, told [][2]string
	for _, e := range answer.Environments {
		got = append(got, [2]string{e.Name, e.State})
	}
	for _, e := range s.Environments {
		told = append(told, [2]string{e.Name, string(e.State)})
	}
	want := [][2]string{{"dev", "proposed"}, {"prod", "proposed"}}
	if diff := cmp.Diff([][][2]string{want, want}, [][][2]string{got, told}); diff != "" {
		t.Error(diff)
	}
}

// TestServeUnreachable: a control plane that cannot be reached keeps nobody from
// asking why.
func TestServeUnreachable(t *testing.T) {
	ctx, stop := limited(t)
	defer stop()
	base, dir := "", t.TempDir()
	err := daemon.Serve(ctx, daemon.Options{
		Settings: settings(t, dir, "controlPlane: {repo: nowhere.git}\nlisten: 127.0.0.1:0\ndataDir: data\n"), Log: io.Discard,
		Ready: func(address string) { base = "http://" + address },
		After: func(status.Snapshot) {
			if code, body := ask(t, "GET", base+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "no such repository") {
				t.Errorf("/readyz is %d: %s", code, body)
			}
			stop()
		},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServeCannotBegin(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dir, _ := began(t)
	text := "controlPlane: {repo: plane.git}\ndataDir: data\nlisten: " + listener.Addr().String() + "\n"
	o := daemon.Options{
		Settings: settings(t, dir, text), Log: io.Discard,
		After: func(status.Snapshot) { t.Error("a cycle has run") },
	}
	for address, want := range map[string][2]string{
		listener.Addr().String(): {"address already in use", "another program has that port"},
		"192.0.2.1:0":            {"cannot assign requested address", "this machine does not have that address"},
	} {
		o := o
		o.Settings = settings(t, dir, "controlPlane: {repo: plane.git}\ndataDir: data\nlisten: "+address+"\n")
		err := daemon.Serve(t.Context(), o)
		var hinted interface{ Hint() string }
		if !errors.As(err, &hinted) || err.Error() != "listen on "+address+": bind: "+want[0] || !strings.HasPrefix(hinted.Hint(), want[1]) {
			t.Errorf("with the address %s it ended with %v", address, err)
		}
	}
	unlock, err := lock.AcquireWithPID(t.Context(), filepath.Join(dir, "data", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	wanted := fmt.Sprintf("take the data folder %s: process %d uses it", filepath.Join(dir, "data"), os.Getpid())
	if err := daemon.Serve(t.Context(), o); runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), wanted)) {
		t.Errorf("with a data folder that is taken it ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := daemon.Serve(ctx, o); err != nil {
		t.Errorf("told to end before it began, it ended with %v", err)
	}
}

func TestOnce(t *testing.T) {
	dir, _ := began(t)
	o := daemon.Options{Settings: settings(t, dir, "controlPlane: {repo: plane.git}\ndataDir: data\nlog: {format: json, level: debug}\n")}
	var log bytes.Buffer
	o.Log = &log
	s, err := daemon.RunOnce(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dev", "prod"} {
		if e, ok := s.FindEnvironment(name); !ok || e.State != status.DryRun {
			t.Errorf("%s is %q", name, e.State)
		}
	}
	for line := range strings.Lines(log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("this is no JSON: %s", line)
		}
	}
	if !strings.Contains(log.String(), `"level":"DEBUG"`) {
		t.Errorf("the log has nothing of level debug:\n%s", &log)
	}
}

// TestGitOnThisMachine: repositories on this machine need a Git that is not too old,
// and those on servers need none.
func TestGitOnThisMachine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for Git is a shell script")
	}
	const local, remote = "controlPlane: {repo: nowhere.git}\n", "controlPlane: {repo: \"http://127.0.0.1:1/x\"}\n"
	for name, test := range map[string]struct{ git, settings, want string }{
		"too old":        {"echo git version 2.20.1", local, "git is version 2.20; 2.30 or newer is needed"},
		"just right":     {"echo git version 2.30.0.windows.1", local, "no such repository"},
		"of the future":  {"echo git version 3.0", local, "no such repository"},
		"says nothing":   {"echo", local, "git --version does not tell its version"},
		"broken":         {"exit 7", local, "repositories on this machine are reached with Git: exit status 7"},
		"none":           {"", local, "executable file not found"},
		"none is needed": {"", remote, "the repository cannot be reached"},
		"needed by a map": {"", remote + "map: {\"https://git.example.com/x\": ../x}\n",
			"repositories on this machine are reached with Git"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if test.git != "" {
				if err := os.WriteFile(filepath.Join(path, "git"), []byte("#!/bin/sh\n"+test.git+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", path)
			dir := t.TempDir()
			_, err := daemon.RunOnce(t.Context(), daemon.Options{Settings: settings(t, dir, test.settings+"dataDir: data\n"), Log: io.Discard})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}

// TestStart fills repositories that are empty, and leaves others alone.
func TestStart(t *testing.T) {
	dir, o := began(t)
	before := gittest.Refs(t, o.ControlPlane)
	for _, branch := range []string{"main", "dev", "prod"} {
		if before["refs/heads/"+branch] == "" || gittest.Refs(t, o.GitOps)["refs/heads/"+branch] == "" {
			t.Errorf("there is no branch %s", branch)
		}
	}
	next := o
	next.GitOps = filepath.Join(dir, "other.git")
	if err := repositories(next).Create(t.Context()); !errors.Is(err, daemon.ErrNotEmpty) {
		t.Errorf("the control plane is not empty, and the error is %v", err)
	}
	next = o
	next.ControlPlane = filepath.Join(dir, "another.git")
	if err := repositories(next).Create(t.Context()); !errors.Is(err, daemon.ErrNotEmpty) {
		t.Errorf("the GitOps repository is not empty, and the error is %v", err)
	}
	if branches := gittest.Refs(t, next.ControlPlane); len(branches) > 0 {
		t.Errorf("one of the two was filled: %v", branches)
	}
	if diff := cmp.Diff(before, gittest.Refs(t, o.ControlPlane)); diff != "" {
		t.Error(diff)
	}
	next.GitOps = filepath.Join(dir, "files")
	if err := os.Mkdir(next.GitOps, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(next.GitOps, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := repositories(next).Create(t.Context()); !errors.Is(err, daemon.ErrNotEmpty) {
		t.Errorf("the folder has files, and the error is %v", err)
	}
}
