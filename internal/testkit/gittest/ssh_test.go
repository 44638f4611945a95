package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// secure returns the setting that makes git use the server's files, and no others.
func secure(t *testing.T, s *SSHServer, key string) string {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("the ssh command is not installed")
	}
	return strings.Join([]string{
		"core.sshCommand=ssh -F", os.DevNull, "-i", key, "-o UserKnownHostsFile=" + s.KnownHosts, "-o GlobalKnownHostsFile=" + os.DevNull,
		"-o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=yes -o BatchMode=yes",
	}, " ")
}

func TestCloneAndPushOverSSH(t *testing.T) {
	bare := Serve(t)
	edited(t, bare, "org/cp")
	s := ServeSSH(t, bare.Root)
	command := secure(t, s, s.KeyFile)
	for _, version := range []string{"0", "2"} {
		if _, err := attempt(t.TempDir(), nil, "", "-c", command, "-c", "protocol.version="+version, "clone", "-q", s.URL("org/cp"), "."); err != nil {
			t.Errorf("with protocol %s: %v", version, err)
		}
	}
	dir := t.TempDir()
	if _, err := attempt(dir, nil, "", "-c", command, "clone", "-q", s.URL("org/cp"), "."); err != nil {
		t.Fatal(err)
	}
	w := &Work{Dir: dir, t: t}
	w.Write("big", noise(2<<20))
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-qm", "big")
	if _, err := attempt(dir, nil, "", "-c", command, "push", "-q", "origin", "main"); err != nil {
		t.Fatal(err)
	}
	equal(t, "main", Refs(t, bare.Dir("org/cp"))["refs/heads/main"], Git(t, dir, "rev-parse", "HEAD"))
}

func TestSSHTakesTheProtocolVersion(t *testing.T) {
	bare := Serve(t)
	edited(t, bare, "cp")
	s := ServeSSH(t, bare.Root)
	command := secure(t, s, s.KeyFile)
	for version, want := range map[string]bool{"0": false, "2": true} {
		trace := filepath.Join(t.TempDir(), "trace")
		env := []string{"GIT_TRACE_PACKET=" + trace}
		if _, err := attempt(t.TempDir(), env, "", "-c", command, "-c", "protocol.version="+version, "ls-remote", s.URL("cp")); err != nil {
			t.Fatal(err)
		}
		packets, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "version 2 where "+version+" was asked", strings.Contains(string(packets), "< version 2"), want)
	}
}

func TestSSHRefuses(t *testing.T) {
	bare := Serve(t)
	edited(t, bare, "cp")
	s, other := ServeSSH(t, bare.Root), ServeSSH(t, t.TempDir())
	tests := map[string]struct{ key, url, want string }{
		"another key":         {other.KeyFile, s.URL("cp"), "Permission denied"},
		"another host":        {s.KeyFile, other.URL("cp"), "Host key verification failed"},
		"outside of the root": {s.KeyFile, s.URL("../../cp"), "is not below that of the server"},
		"no repository":       {s.KeyFile, s.URL("none"), "does not appear to be a git repository"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := attempt(t.TempDir(), nil, "", "-c", secure(t, s, test.key), "ls-remote", test.url); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	t.Run("another command", func(t *testing.T) {
		if _, err := attempt(t.TempDir(), nil, "", "-c", secure(t, s, s.KeyFile), "archive", "--remote="+s.URL("cp"), "HEAD"); err == nil ||
			!strings.Contains(err.Error(), "git-upload-archive is not served here") {
			t.Errorf("got %v", err)
		}
	})
	info, err := os.Stat(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mode of the key", info.Mode().String(), "-rw-------")
}
