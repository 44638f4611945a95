package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// RefUpdate moves a reference. If New equals Old, it only requires Old.
type RefUpdate struct {
	Ref string
	Old string // "" if it must not exist
	New string // "" to remove it
}

// Write packs new commits and the objects that the remote lacks. The mirror must be synced.
func (m *Remote) Write(ctx context.Context, commits ...Commit) (*Pack, error) {
	if m.options.Rehearse != nil {
		return rehearsePack(commits)
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	pack, err := writePack(ctx, m.packDir(), commits)
	if mirror := m.Mirror(); mirror != nil && isFolderMissing(err) {
		err = mirror.markDamaged(err)
	}
	if err != nil {
		return nil, fmt.Errorf("write commits for %s: %w", m.shown, err)
	}
	return pack, nil
}

// Draft stores a commit in the mirror, where no reference names it, and returns its id: what it would be
// can be read before it is pushed. Nothing is sent, and Git removes it one day.
func (m *Remote) Draft(ctx context.Context, c Commit) (id string, err error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	pack, err := writePack(ctx, m.packDir(), []Commit{c})
	if err != nil {
		return "", fmt.Errorf("draft a commit for %s: %w", m.shown, err)
	}
	defer pack.Discard() // of no effect once it is kept
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := pack.Keep(m.packDir(), m.mirror.readDeltaBase); err != nil {
		return "", fmt.Errorf("%w: %w", errDisk, err)
	}
	m.mirror.mu.Lock()
	defer m.mirror.mu.Unlock()
	return pack.Commits[0], m.mirror.refreshPacks()
}

func (m *Remote) packDir() string { return filepath.Join(m.options.Dir, "objects", "pack") }

// Push sends a pack (or nil) and moves references, all or none if the server supports that. It
// succeeds if all have their new values already. The error is [ErrStale] if one does not have its
// old value. Afterwards the pack is part of the mirror or removed.
func (m *Remote) Push(ctx context.Context, pack *Pack, updates ...RefUpdate) error {
	if m.options.Rehearse != nil {
		m.rehearsePush(pack, updates)
		return nil
	}
	if pack != nil {
		defer pack.Discard()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	started := time.Now()
	err := m.runExchange(ctx, "push to", func(ctx context.Context) error { return m.pushPack(ctx, pack, updates) })
	m.observeExchange("push", started, err)
	return err
}

func (m *Remote) pushPack(ctx context.Context, pack *Pack, updates []RefUpdate) error {
	if err := m.ensureMirror(); err != nil {
		return err
	}
	err := m.sendPack(ctx, pack, updates)
	if err != nil && errors.Is(classifyError(err), ErrUnreachable) || errors.Is(err, ErrRefused) {
		// Servers word their answers differently; only the references show whether the push was
		// accepted or another writer was faster.
		err = m.checkOutcome(ctx, updates, err)
	}
	if err != nil {
		return err
	}
	if pack != nil {
		if err := pack.Keep(m.packDir(), m.mirror.readDeltaBase); err != nil {
			return fmt.Errorf("%w: %w", errDisk, err)
		}
	}
	return m.mirror.recordPush(updates)
}

func (m *Remote) sendPack(ctx context.Context, pack *Pack, updates []RefUpdate) (err error) {
	s, err := m.openSession(ctx, transport.ReceivePackServiceName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	adv, err := s.references(ctx)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(updates), func(u RefUpdate) bool { return advertisedID(adv, u.Ref) == u.New })
	if len(open) == 0 {
		return nil
	}
	for _, u := range open {
		if now := advertisedID(adv, u.Ref); now != u.Old {
			return staleError(u, now)
		}
	}
	if pack != nil && adv.Capabilities.Supports(protocol.NoThin) {
		if err := pack.MakeWhole(m.mirror.readDeltaBase); err != nil {
			return fmt.Errorf("make the pack whole: %w", err)
		}
	}
	var commands []*packp.Command
	for _, u := range open {
		commands = append(commands, &packp.Command{Name: plumbing.ReferenceName(u.Ref), Old: plumbing.NewHash(u.Old), New: plumbing.NewHash(u.New)})
	}
	file := ""
	if pack != nil {
		file = pack.Path
	}
	req, err := protocol.NewPushRequest(adv.Capabilities, commands)
	if err != nil {
		return err
	}
	if m.options.BeforePush != nil {
		if err := m.options.BeforePush(ctx); err != nil {
			return err
		}
	}
	report, err := m.receivePack(ctx, s, req, file)
	if report != nil && report.Error() != nil {
		return fmt.Errorf("%w: %s", ErrRefused, protocol.ShortenReason(protocol.DescribeRefusals(report)))
	}
	return err
}

func (m *Remote) receivePack(ctx context.Context, s session, req *packp.ReferenceUpdateRequest, file string) (*packp.ReportStatus, error) {
	endpoint, auth, err := m.resolveEndpoint(ctx)
	if err != nil {
		return nil, err
	}
	if isHTTP(endpoint) {
		report, err := m.protocolServer(endpoint, auth).Push(ctx, req, file)
		if !errors.Is(err, protocol.ErrUnsupported) {
			return report, err
		}
	}
	req.Packfile, _, err = protocol.OpenPack(req, file)
	if err != nil {
		return nil, err
	}
	return s.Session.(transport.ReceivePackSession).ReceivePack(ctx, req)
}

func advertisedID(adv *packp.AdvRefs, ref string) string {
	if id, ok := adv.References[ref]; ok {
		return id.String()
	}
	return ""
}

func staleError(u RefUpdate, now string) error {
	return fmt.Errorf("%s is %s and not %s: %w", u.Ref, cmp.Or(now, "absent"), cmp.Or(u.Old, "absent"), ErrStale)
}

// checkOutcome returns nil if all references have their new values, and otherwise failed or
// ErrStale.
func (m *Remote) checkOutcome(ctx context.Context, updates []RefUpdate, failed error) error {
	adv, err := m.advertisedReferences(ctx, transport.UploadPackServiceName)
	if err != nil {
		return failed
	}
	done := true
	for _, u := range updates {
		now := advertisedID(adv, u.Ref)
		if now != u.New && now != u.Old {
			return staleError(u, now)
		}
		done = done && now == u.New
	}
	if done {
		return nil
	}
	return failed
}

func (r *Repository) recordPush(updates []RefUpdate) error {
	var u update
	for _, ref := range updates {
		name := plumbing.ReferenceName(ref.Ref)
		switch {
		case !isMirrored(ref.Ref):
		case ref.New == "":
			u.remove = append(u.remove, name)
		default:
			u.set = append(u.set, plumbing.NewHashReference(name, plumbing.NewHash(ref.New)))
		}
	}
	r.mu.Lock()
	err := r.refreshPacks()
	r.mu.Unlock()
	return errors.Join(err, r.applyUpdate(u))
}
