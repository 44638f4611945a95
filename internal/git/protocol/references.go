// Package protocol speaks version 2 of Git's protocol over HTTP: it lists references by prefix,
// fetches with filters, pushes packs from disk, and aborts answers that stall.
//
// What the package keeps true: an answer of a server that does not know the version, or the
// request, is [ErrUnsupported] and never taken for an empty answer.
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

// ErrUnsupported means that a server did not answer by version 2 of the protocol.
var ErrUnsupported = errors.New("the server does not speak version 2 of Git's protocol")

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// ListReferences returns the references whose names begin with one of the prefixes, and the target
// of HEAD.
func (s Server) ListReferences(ctx context.Context, prefixes []string) (refs *packp.AdvRefs, err error) {
	args := []string{"symrefs"}
	for _, p := range prefixes {
		args = append(args, "ref-prefix "+p)
	}
	err = s.postUploadPack(ctx, encodeCommand("ls-refs", args), func(answer io.Reader) error {
		refs, err = parseReferences(io.LimitReader(answer, maxAnswer))
		return err
	})
	return refs, err
}

// DigestReferences returns a hash of the references whose names begin with one of the prefixes.
func DigestReferences(refs *packp.AdvRefs, prefixes []string) string {
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
	Auth   githttp.AuthMethod // nil for anonymous access
}

// postUploadPack sends a request of version 2 and calls read with the answer.
func (s Server) postUploadPack(ctx context.Context, body []byte, read func(io.Reader) error) (err error) {
	req, err := s.newRequest(ctx, "git-upload-pack", bytes.NewReader(body))
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
	case res.StatusCode/100 == 3, slices.Contains(unsupportedCodes, res.StatusCode):
		return ErrUnsupported
	case res.StatusCode != http.StatusOK:
		return githttp.NewErr(res)
	}
	return read(res.Body)
}

// unsupportedCodes are the status codes of servers that do not know the request. Others, such as
// 502, may be temporary.
var unsupportedCodes = []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported}

func (s Server) newRequest(ctx context.Context, service string, body io.Reader) (*http.Request, error) {
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

// maxRedirects bounds the redirects of one request.
const maxRedirects = 10

// keepMethod stops at redirects that would change the method and lose the body. It removes the
// credentials from requests to another server.
func keepMethod(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	if from := via[0].URL; req.URL.Scheme != from.Scheme || !strings.EqualFold(req.URL.Host, from.Host) {
		req.Header.Del("Authorization") // another port is another server
	}
	return nil
}

// encodeCommand returns the body of a request: a command, a delimiter, arguments, and the end.
func encodeCommand(command string, args []string) []byte {
	line := func(text string) string { return fmt.Sprintf("%04x%s\n", len(text)+len("0000\n"), text) }
	body := []byte(line("command="+command) + line("agent="+capability.DefaultAgent()) + "0001")
	for _, arg := range args {
		body = append(body, line(arg)...)
	}
	return append(body, "0000"...)
}

// parseReferences reads references: lines of an id, a name, and attributes.
func parseReferences(in io.Reader) (*packp.AdvRefs, error) {
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
