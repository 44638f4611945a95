// Package protocol speaks version 2 of Git's protocol over HTTP: it lists references by prefix,
// fetches with filters, streams pushes, and aborts stalled answers.
//
// What the package keeps true: any other answer is [ErrUnsupported], never an empty result.
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

// ErrUnsupported means that an answer does not follow version 2.
var ErrUnsupported = errors.New("the server does not speak version 2 of Git's protocol")

const maxAnswer = 64 << 20

// ListReferences returns the references with one of the prefixes, and HEAD's target.
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

// DigestReferences returns a hash of the references with one of the prefixes.
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
	Auth   githttp.AuthMethod
}

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

// unsupportedCodes mean that a server does not know the request. Others, such as 502, may be
// temporary.
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

const maxRedirects = 10

// keepMethod stops at redirects that would lose the body, and removes credentials from requests to
// other servers.
func keepMethod(req *http.Request, via []*http.Request) error {
	if req.Method != via[0].Method || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	if from := via[0].URL; req.URL.Scheme != from.Scheme || !strings.EqualFold(req.URL.Host, from.Host) {
		req.Header.Del("Authorization") // another port counts as another server
	}
	return nil
}

func encodeCommand(command string, args []string) []byte {
	line := func(text string) string { return fmt.Sprintf("%04x%s\n", len(text)+len("0000\n"), text) }
	body := []byte(line("command="+command) + line("agent="+capability.DefaultAgent()) + "0001")
	for _, arg := range args {
		body = append(body, line(arg)...)
	}
	return append(body, "0000"...)
}

func parseReferences(in io.Reader) (*packp.AdvRefs, error) {
	refs := packp.NewAdvRefs()
	lines := pktline.NewScanner(in)
	for lines.Scan() {
		text := strings.TrimSuffix(string(lines.Bytes()), "\n")
		if text == "" {
			_, err := io.Copy(io.Discard, in)
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
