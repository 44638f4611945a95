package gittest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHServer serves the bare repositories below a folder over SSH, to whoever has
// the key.
type SSHServer struct {
	KeyFile    string // the client's private key: ed25519, OpenSSH's PEM form, mode 0600
	KnownHosts string // a file with the server's key, as OpenSSH writes it

	root     string
	listener net.Listener
	config   *ssh.ServerConfig
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

// ServeSSH starts a server of the repositories below root. It ends with the test,
// and closes its connections then.
func ServeSSH(t testing.TB, root string) *SSHServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &SSHServer{
		KeyFile: filepath.Join(dir, "key"), KnownHosts: filepath.Join(dir, "known_hosts"),
		root: root, listener: listener,
	}
	t.Cleanup(s.close)
	if err := s.makeKeys(); err != nil {
		t.Fatal(err)
	}
	s.start(s.accept)
	return s
}

// URL returns the URL of a repository: ssh://git@127.0.0.1:PORT/PATH/NAME.git.
func (s *SSHServer) URL(name string) string {
	return fmt.Sprintf("ssh://git@%s%s.git", s.listener.Addr(), filepath.ToSlash(filepath.Join(s.root, name)))
}

// start runs f until it returns, which the end of the test waits for.
func (s *SSHServer) start(f func()) { s.running.Go(f) }

func (s *SSHServer) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for _, c := range s.conns {
		_ = c.Close() // the client may have closed it
	}
	s.mu.Unlock()
	s.running.Wait()
}

// makeKeys makes the keys of the client and the server, and writes the files.
func (s *SSHServer) makeKeys() error {
	client, block, err := newKey()
	if err != nil {
		return err
	}
	host, _, err := newKey()
	if err != nil {
		return err
	}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, given ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(given.Marshal(), client.PublicKey().Marshal()) {
			return nil, errors.New("the key is not the one that the server was started with")
		}
		return nil, nil
	}}
	s.config.AddHostKey(host)
	known := knownhosts.Line([]string{s.listener.Addr().String()}, host.PublicKey()) + "\n"
	return errors.Join(os.WriteFile(s.KeyFile, pem.EncodeToMemory(block), 0o600), os.WriteFile(s.KnownHosts, []byte(known), 0o600))
}

func newKey() (ssh.Signer, *pem.Block, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	return signer, block, err
}

func (s *SSHServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		closed := s.closed
		s.mu.Unlock()
		if closed {
			_ = conn.Close()
			return
		}
		s.start(func() { s.converse(conn) })
	}
}

// converse serves one connection until either side closes it.
func (s *SSHServer) converse(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return // the client was refused, or has gone
	}
	s.start(func() { ssh.DiscardRequests(requests) })
	for asked := range channels {
		if asked.ChannelType() != "session" {
			_ = asked.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		s.start(func() { s.session(channel, requests) })
	}
}

// session takes the one variable that git sends, and runs one command.
func (s *SSHServer) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	var env []string
	for req := range requests {
		switch req.Type {
		case "env":
			var v struct{ Name, Value string }
			ok := ssh.Unmarshal(req.Payload, &v) == nil && v.Name == "GIT_PROTOCOL"
			if ok {
				env = append(env, v.Name+"="+v.Value)
			}
			_ = req.Reply(ok, nil)
		case "exec":
			var command struct{ Line string }
			ok := ssh.Unmarshal(req.Payload, &command) == nil
			_ = req.Reply(ok, nil)
			if !ok {
				return
			}
			s.start(func() { ssh.DiscardRequests(requests) })
			status := struct{ Code uint32 }{s.run(channel, env, command.Line)}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
			return
		default:
			_ = req.Reply(false, nil)
		}
	}
}

// run runs a command that a client sent, and returns its exit status.
func (s *SSHServer) run(channel ssh.Channel, env []string, line string) uint32 {
	program, dir, err := s.parse(line)
	if err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return 128
	}
	cmd := exec.Command("git", program, dir)
	cmd.Env = append(testEnvironment(), env...)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	// Not cmd.Stdin: the client may wait for the exit status before it ends its input.
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return 128
	}
	s.start(func() {
		_, _ = io.Copy(input, channel) // ends with the channel, or git
		_ = input.Close()
	})
	var failed *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &failed) && failed.ExitCode() > 0 {
		return uint32(failed.ExitCode())
	} else if err != nil {
		return 128
	}
	return 0
}

// parse takes apart "git-upload-pack '/path/name.git'".
func (s *SSHServer) parse(line string) (program, dir string, err error) {
	command, quoted, _ := strings.Cut(line, " ")
	program = strings.TrimPrefix(command, "git-")
	if program != "upload-pack" && program != "receive-pack" {
		return "", "", fmt.Errorf("the command %s is not served here", command)
	}
	dir = strings.Trim(quoted, "'")
	if below, err := filepath.Rel(s.root, dir); err != nil || !filepath.IsLocal(below) {
		return "", "", fmt.Errorf("the path %s is not below that of the server", dir)
	}
	return program, dir, nil
}
