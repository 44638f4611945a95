package wire

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// NoThin is what a server says that takes only packs with all in them that others are
// differences from.
const NoThin capability.Capability = "no-thin"

// Push makes the request for a server to move references, with the pack in a file; "" if
// it needs nothing that it does not have.
func Push(server *capability.List, pack string, commands []*packp.Command) (*packp.ReferenceUpdateRequest, error) {
	req := packp.NewReferenceUpdateRequestFromCapabilities(server)
	for _, c := range []capability.Capability{capability.Sideband64k, capability.Atomic, capability.DeleteRefs} {
		if server.Supports(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	sends := false
	for _, c := range commands {
		if err := c.Name.Validate(); err != nil {
			return nil, fmt.Errorf("%q: %w", c.Name, err)
		}
		sends = sends || c.New != plumbing.ZeroHash
	}
	req.Commands = commands
	if !sends {
		return req, nil
	}
	if pack == "" {
		req.Packfile = io.NopCloser(strings.NewReader(emptyPack))
		return req, nil
	}
	file, err := os.Open(pack)
	req.Packfile = file
	return req, err
}

// emptyPack is a pack without objects: what a server expects when a reference moves
// to a commit that it has.
const emptyPack = "PACK\x00\x00\x00\x02\x00\x00\x00\x00" +
	"\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

// Refusals gives what the server said of each reference that it did not move.
func Refusals(report *packp.ReportStatus) string {
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
