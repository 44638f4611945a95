// Package protocol is what we say to servers over HTTP ourselves, in version 2 of Git's
// protocol: it asks for some of their references, with one small request and an answer
// that has nothing else in it; it fetches without what nobody reads yet; and it does not
// wait for a server that has stopped answering.
//
// What the package keeps true: a server that does not know the version, or what is asked
// by it, is told from one that has an answer ([ErrUnsupported]), and then nothing is
// concluded.
package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// ErrUnsupported says that a server did not answer as version 2 has it.
var ErrUnsupported = errors.New("the server does not speak version 2 of Git's protocol")

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// References returns the references whose names begin with one of the prefixes, and where HEAD
// points to.
func (s Server) References(ctx context.Context, prefixes []string) (refs *packp.AdvRefs, err error) {
	var b request
	b.begin("ls-refs")
	b.line("symrefs")
	for _, p := range prefixes {
		b.line("ref-prefix " + p)
	}
	err = s.post(ctx, b.end(), func(answer io.Reader) error {
		refs, err = parse(io.LimitReader(answer, maxAnswer))
		return err
	})
	return refs, err
}

// Digest names what the references are whose names begin with one of the prefixes.
func Digest(refs *packp.AdvRefs, prefixes []string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(refs.References)) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			fmt.Fprintln(h, name, refs.References[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Server is one repository, over HTTP.
type Server struct {
	Client *http.Client
	URL    string
	Auth   githttp.AuthMethod // nil for nobody
}

// post sends a request of version 2, and has the answer read.
func (s Server) post(ctx context.Context, body []byte, read func(io.Reader) error) (err error) {
	req, err := s.request(ctx, "git-upload-pack", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Git-Protocol", "version=2")
	client := *s.Client
	client.CheckRedirect = keepMethod
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch {
	case res.StatusCode/100 == 3, slices.Contains(unsupported, res.StatusCode):
		return ErrUnsupported
	case res.StatusCode != http.StatusOK:
		return githttp.NewErr(res)
	}
	return read(res.Body)
}

// unsupported are the answers of servers that do not know what they are asked. Others, such
// as 502, say that something is broken, and may be well the next time.
var unsupported = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported}

// request makes one for a service of the repository.
func (s Server) request(ctx context.Context, service string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.URL, "/")+"/"+service, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-"+service+"-request")
	req.Header.Set("Accept", "application/x-"+service+"-result")
	req.Header.Set("User-Agent", capability.DefaultAgent())
	if s.Auth != nil {
		s.Auth.SetAuth(req)
	}
	return req, nil
}

// maxRedirects bounds how often a server may send us elsewhere.
const maxRedirects = 10

// keepMethod does not go where a request would become another one, without what it says. To
// another server it goes without credentials.
func keepMethod(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	if from := via[0].URL; req.URL.Scheme != from.Scheme || !strings.EqualFold(req.URL.Host, from.Host) {
		req.Header.Del("Authorization") // another port is another server
	}
	return nil
}

// request is the command, a delimiter, its arguments, and the end.
type request struct{ bytes.Buffer }

func (r *request) line(text string) { fmt.Fprintf(r, "%04x%s\n", len(text)+len("0000\n"), text) }

func (r *request) begin(command string) {
	r.line("command=" + command)
	r.line("agent=" + capability.DefaultAgent())
	r.WriteString("0001")
}

func (r *request) end() []byte {
	r.WriteString("0000")
	return r.Bytes()
}

// parse reads lines of an id, a name, and what is to be said of it.
func parse(in io.Reader) (*packp.AdvRefs, error) {
	refs := packp.NewAdvRefs()
	lines := pktline.NewScanner(in)
	for lines.Scan() {
		text := strings.TrimSuffix(string(lines.Bytes()), "\n")
		if text == "" { // the end
			_, err := io.Copy(io.Discard, in) // so that the connection can be used again
			return refs, err
		}
		words := strings.Split(text, " ")
		if len(words) < 2 || words[0] != "unborn" && !plumbing.IsHash(words[0]) {
			return nil, ErrUnsupported
		}
		if words[0] != "unborn" {
			refs.References[words[1]] = plumbing.NewHash(words[0])
		}
		for _, word := range words[2:] {
			if target, ok := strings.CutPrefix(word, "symref-target:"); ok {
				if err := refs.AddReference(plumbing.NewSymbolicReference(plumbing.ReferenceName(words[1]), plumbing.ReferenceName(target))); err != nil {
					return nil, err
				}
			}
		}
	}
	var refused *pktline.ErrorLine
	if err := lines.Err(); err != nil && !errors.Is(err, pktline.ErrInvalidPktLen) && !errors.As(err, &refused) {
		return nil, err
	}
	return nil, ErrUnsupported
}
