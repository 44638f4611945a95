package protocol

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// NoThin is the capability of servers that refuse thin packs.
const NoThin capability.Capability = "no-thin"

// NewPushRequest returns a request to move references, without the pack.
func NewPushRequest(server *capability.List, commands []*packp.Command) (*packp.ReferenceUpdateRequest, error) {
	req := packp.NewReferenceUpdateRequestFromCapabilities(server)
	for _, c := range []capability.Capability{capability.Sideband64k, capability.Atomic, capability.DeleteRefs} {
		if server.Supports(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range commands {
		if err := c.Name.Validate(); err != nil {
			return nil, fmt.Errorf("%q: %w", c.Name, err)
		}
	}
	req.Commands = commands
	return req, nil
}

// OpenPack opens the pack of a request, empty if file is "", and returns its size. It returns nil
// if the request only removes references.
func OpenPack(req *packp.ReferenceUpdateRequest, file string) (io.ReadCloser, int64, error) {
	if !slices.ContainsFunc(req.Commands, func(c *packp.Command) bool { return c.New != plumbing.ZeroHash }) {
		return nil, 0, nil
	}
	if file == "" {
		return io.NopCloser(strings.NewReader(emptyPack)), int64(len(emptyPack)), nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

// Push sends a request and streams the pack, which go-git would buffer in memory. The error is
// [ErrUnsupported] if a redirect would change the request.
func (s Server) Push(ctx context.Context, update *packp.ReferenceUpdateRequest, file string) (report *packp.ReportStatus, err error) {
	var head bytes.Buffer
	if err := update.Encode(&head); err != nil {
		return nil, err
	}
	size := int64(head.Len())
	open := func() (io.ReadCloser, error) {
		pack, length, err := OpenPack(update, file)
		if err != nil || pack == nil {
			return io.NopCloser(bytes.NewReader(head.Bytes())), err
		}
		size = int64(head.Len()) + length
		return &pushBody{io.MultiReader(bytes.NewReader(head.Bytes()), pack), pack}, nil
	}
	body, err := open()
	if err != nil {
		return nil, err
	}
	req, err := s.newRequest(ctx, "git-receive-pack", body)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	req.ContentLength, req.GetBody = size, open
	client := *s.Client
	client.CheckRedirect = keepMethod
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch {
	case res.StatusCode/100 == 3:
		return nil, ErrUnsupported
	case res.StatusCode != http.StatusOK:
		return nil, githttp.NewErr(res)
	}
	in := bufio.NewReader(res.Body)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil // the request asked for no report
	}
	report = packp.NewReportStatus()
	if err := report.Decode(Demultiplex(update.Capabilities, in)); err != nil {
		return nil, err
	}
	return report, report.Error()
}

type pushBody struct {
	io.Reader
	io.Closer
}

// emptyPack is sent when a reference moves to a commit that the server has.
const emptyPack = "PACK\x00\x00\x00\x02\x00\x00\x00\x00" +
	"\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

// DescribeRefusals returns the server's messages for refused references.
func DescribeRefusals(report *packp.ReportStatus) string {
	var all []string
	for _, s := range report.CommandStatuses {
		if s.Error() != nil {
			all = append(all, fmt.Sprintf("%s: %s", s.ReferenceName, s.Status))
		}
	}
	if all == nil {
		return report.UnpackStatus
	}
	return strings.Join(all, "; ")
}
