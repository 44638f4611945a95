package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// Credentials authenticate at a server. Zero means anonymous, or the user's agent over SSH.
type Credentials struct {
	Username, Secret string
	Key              []byte
	Passphrase       string
	KnownHosts       string
}

// String hides the secrets.
func (Credentials) String() string { return "[redacted]" }

// GoString hides the secrets from %#v.
func (Credentials) GoString() string { return "[redacted]" }

const longestRetry = time.Hour

// BusyError means that a server asks for a later retry.
type BusyError struct {
	After time.Duration // 0 if unspecified
	err   error
}

// Error includes the server's answer.
func (b *BusyError) Error() string { return fmt.Sprintf("the server is busy: %v", b.err) }

// Unwrap returns the error of the answer.
func (b *BusyError) Unwrap() error { return b.err }

type session struct{ transport.Session }

func (s session) references(ctx context.Context) (*packp.AdvRefs, error) {
	refs, err := s.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return packp.NewAdvRefs(), nil
	}
	return refs, err
}

func (m *Remote) resolveEndpoint(ctx context.Context) (*transport.Endpoint, transport.AuthMethod, error) {
	endpoint, err := transport.NewEndpoint(m.options.URL)
	if err != nil {
		return nil, nil, err
	}
	var who Credentials
	if m.options.Credentials != nil {
		who, err = m.options.Credentials(ctx)
		if err != nil {
			return nil, nil, err
		}
	}
	guarded := m.options.Guard && endpoint.Protocol == "ssh"
	if guarded {
		if err := protocol.CheckHost(ctx, endpoint.Host); err != nil {
			return nil, nil, err
		}
	}
	auth, err := who.authMethod(endpoint, &m.key)
	if err == nil && guarded {
		auth, err = guardSSH(endpoint, auth)
	}
	return endpoint, auth, err
}

func (m *Remote) openSession(ctx context.Context, service string) (session, error) {
	endpoint, auth, err := m.resolveEndpoint(ctx)
	if err != nil {
		return session{}, err
	}
	var client transport.Transport
	switch {
	case isHTTP(endpoint):
		client = githttp.NewClient(protocol.NewClient(m.options.Stall, m.isTrusted))
	case endpoint.Protocol == "ssh":
		client = gitssh.NewClient(nil)
		defer registerDial(ctx, endpoint)()
	case endpoint.Protocol == "file":
		client = file.DefaultClient
	default:
		return session{}, fmt.Errorf("%s repositories cannot be reached", endpoint.Protocol)
	}
	var s session
	if service == transport.UploadPackServiceName {
		s.Session, err = client.NewUploadPackSession(endpoint, auth)
	} else {
		s.Session, err = client.NewReceivePackSession(endpoint, auth)
	}
	return s, err
}

// sshKey caches the last key: decrypting one takes a tenth of a second.
type sshKey struct {
	mu     sync.Mutex
	from   Credentials
	signer ssh.Signer
}

func (k *sshKey) read(c Credentials) (ssh.Signer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.signer != nil && bytes.Equal(k.from.Key, c.Key) && k.from.Passphrase == c.Passphrase {
		return k.signer, nil
	}
	keys, err := gitssh.NewPublicKeys("", c.Key, c.Passphrase)
	if err != nil {
		return nil, err
	}
	k.from, k.signer = Credentials{Key: bytes.Clone(c.Key), Passphrase: c.Passphrase}, keys.Signer
	return k.signer, nil
}

func (c Credentials) authMethod(endpoint *transport.Endpoint, key *sshKey) (transport.AuthMethod, error) {
	switch {
	case endpoint.Protocol == "ssh" && c.Key != nil:
		user := endpoint.User
		if user == "" {
			user = gitssh.DefaultUsername
		}
		signer, err := key.read(c)
		if err != nil {
			return nil, fmt.Errorf("read the SSH key: %w", err)
		}
		keys := &gitssh.PublicKeys{User: user, Signer: signer}
		if c.KnownHosts != "" {
			keys.HostKeyCallback, err = gitssh.NewKnownHostsCallback(c.KnownHosts)
			if err != nil {
				return nil, fmt.Errorf("read the known hosts: %w", err)
			}
		}
		return keys, nil
	case endpoint.Protocol == "ssh" && os.Getenv("SSH_AUTH_SOCK") == "" && runtime.GOOS != "windows": // Windows does not use this variable for the agent
		return nil, ErrNoKey
	case strings.HasPrefix(endpoint.Protocol, "http") && c.Secret != "":
		return &githttp.BasicAuth{Username: c.Username, Password: c.Secret}, nil
	}
	return nil, nil
}

func classifyError(err error) error {
	var stranger *protocol.UntrustedError
	if errors.As(err, &stranger) {
		return err
	}
	err = protocol.UnwrapGoGit(err)
	var answer *githttp.Err
	switch {
	case isClassified(err):
		return err
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return ErrNotFound
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed), errors.Is(err, transport.ErrInvalidAuthMethod):
		return fmt.Errorf("%w: %s", ErrAccess, protocol.ShortenReason(err.Error()))
	case errors.As(err, &answer):
		failed := fmt.Errorf("HTTP status %d %s", answer.StatusCode(), protocol.ShortenReason(answer.Reason))
		if code := answer.StatusCode(); code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
			failed = &BusyError{protocol.RetryAfter(answer.Response.Header, longestRetry), failed}
		}
		return fmt.Errorf("%w: %w", ErrUnreachable, failed)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func isClassified(err error) bool {
	var busy *BusyError
	for _, known := range []error{ErrNotFound, ErrAccess, ErrUnreachable, ErrStale, ErrRefused, ErrNoRevision, ErrDamaged, errDisk} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &busy)
}

// withoutUser keeps secrets out of a mirror's config.
func withoutUser(location string) (string, Credentials) {
	u, err := url.Parse(location)
	if err != nil || u.User == nil || u.Scheme != "http" && u.Scheme != "https" {
		return location, Credentials{}
	}
	who := Credentials{Username: u.User.Username()}
	who.Secret, _ = u.User.Password()
	if who.Secret == "" { // https://TOKEN@host
		who = Credentials{Username: "x-access-token", Secret: who.Username}
	}
	u.User = nil
	return u.String(), who
}
