package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// userName is the name of the server's only user.
	userName = "fairlead"
	// patience is how long a server may take to start and to stop.
	patience = 2 * time.Minute
)

// server is a PostgreSQL that is reached by a socket in its folder.
type server struct {
	dir  string // short, as names of sockets have to be
	ran  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a server. It loses what it has if the machine stops, which no test asks for.
func start() (*server, error) {
	initdb, err := findProgram("initdb")
	if err != nil {
		return nil, err
	}
	program, err := findProgram("postgres")
	if err != nil {
		return nil, err
	}
	s := &server{done: make(chan struct{})}
	s.dir, err = os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	err = s.run(initdb, program)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// findProgram returns the path of a program of PostgreSQL, which Debian does not put on PATH.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	return "", fmt.Errorf("%w: install the package postgresql", err)
}

func (s *server) run(initdb, program string) error {
	data := filepath.Join(s.dir, "data")
	made := exec.Command(initdb, "-D", data, "-U", userName, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	err := lowerRights(made, s.dir)
	if err != nil {
		return err
	}
	out, err := made.CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	s.ran = exec.Command(program, "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+s.dir,
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=100")
	s.ran.Stdout, s.ran.Stderr = log, log
	err = errors.Join(lowerRights(s.ran, s.dir), s.begin(), log.Close())
	if err != nil {
		return err
	}
	return s.waitUntilReady()
}

// begin starts the process, which ends with ours.
func (s *server) begin() error {
	started := make(chan error)
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // the system takes the end of the thread that started it for ours
		defer runtime.UnlockOSThread()
		err := s.ran.Start()
		started <- err
		if err == nil {
			_ = s.ran.Wait() // how it ends says nothing: it is told to
		}
	}()
	return <-started
}

func (s *server) waitUntilReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.address("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("postgres does not start:\n%s", text)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("postgres does not answer: %w", err), s.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server, and waits until it has ended.
func (s *server) stop() error {
	err := s.ran.Process.Signal(os.Interrupt) // without waiting for connections
	select {
	case <-s.done:
	case <-time.After(patience):
		err = errors.Join(err, s.ran.Process.Kill())
		<-s.done
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
