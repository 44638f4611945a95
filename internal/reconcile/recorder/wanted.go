package recorder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
)

const (
	// maxChanges limits the commits per transaction, and maxAttempts the retries after another
	// process was faster.
	maxChanges  = 50
	maxAttempts = 5
)

var errAway = errors.New("the ledger is not open")

// toldOutputs has the output branches that the last cycle found.
type toldOutputs struct {
	branches chan []wanted.Branch // not recorded yet
	failures map[string]string    // last logged, by environment
	recorded map[string]recorded
	versions versions
}

type recorded struct {
	store       *ledgerdb.Store
	head        string
	environment ledgerdb.Environment
	expected    map[string]int
}

func newToldOutputs() toldOutputs {
	return toldOutputs{make(chan []wanted.Branch, 1), map[string]string{}, map[string]recorded{}, versions{map[string]time.Time{}, map[ledgerdb.Unnamed]bool{}}}
}

// TellOutputs lets RecordOutputs record new outputs. It does not block, and must not be called
// concurrently.
func (r *Recorder) TellOutputs(all []wanted.Branch) {
	select {
	case <-r.told.branches: // the new list includes them
	default:
	}
	r.told.branches <- all
}

// RecordOutputs records outputs from TellOutputs until ctx ends. It retries failures.
func (r *Recorder) RecordOutputs(ctx context.Context) {
	var left []wanted.Branch
	retry := time.NewTicker(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case left = <-r.told.branches:
			r.noteEnvironments(ctx, left)
		case <-retry.C:
		}
		left = r.recordBranches(ctx, left)
	}
}

// RecordToldOutputs records the last branches from TellOutputs once.
func (r *Recorder) RecordToldOutputs(ctx context.Context) {
	select {
	case all := <-r.told.branches:
		r.noteEnvironments(ctx, all)
		_ = r.recordBranches(ctx, all) // they are logged
	default:
	}
}

// noteEnvironments logs a failure; the next cycle retries.
func (r *Recorder) noteEnvironments(ctx context.Context, all []wanted.Branch) {
	names := list.Convert(all, func(b wanted.Branch) string { return b.Environment })
	err := r.useStore(func(s *ledgerdb.Store) error { return s.NoteEnvironments(ctx, names, r.options.Now()) })
	if err != nil && !errors.Is(err, errAway) && ctx.Err() == nil {
		r.options.Logger.Warn("which environments there are could not be noted in the ledger; it is tried again", "error", err)
	}
}

func (r *Recorder) recordBranches(ctx context.Context, all []wanted.Branch) (failed []wanted.Branch) {
	for _, b := range all {
		err := r.recordOutputs(ctx, b)
		if err == nil {
			err = r.recordVersions(ctx, b)
		}
		if ctx.Err() != nil {
			return nil
		}
		said := ""
		if err != nil {
			said = err.Error()
			failed = append(failed, b)
		}
		if said != "" && said != r.told.failures[b.Environment] && !errors.Is(err, errAway) { // logged elsewhere
			r.options.Logger.Warn("what clusters should run could not be recorded in the ledger; it is tried again", "environment", b.Environment, "error", err)
		}
		r.told.failures[b.Environment] = said
	}
	return failed
}

func (r *Recorder) recordOutputs(ctx context.Context, b wanted.Branch) error {
	head, err := b.FindHead()
	if err != nil || head == "" {
		return err
	}
	r.flushing.Lock()
	next := recorded{r.store, head, newOutputs(b, "").Environment, b.Expected}
	r.flushing.Unlock()
	last := r.told.recorded[b.Environment]
	if last.store != nil && last.store == next.store && last.head == head && last.environment == next.environment && maps.Equal(last.expected, next.expected) {
		return nil // saves a query in each cycle
	}
	for range maxAttempts {
		err = r.tryRecord(ctx, b, head)
		if !errors.Is(err, ledgerdb.ErrOvertaken) {
			break
		}
	}
	if err == nil {
		r.told.recorded[b.Environment] = next
	}
	return err
}

func (r *Recorder) tryRecord(ctx context.Context, b wanted.Branch, head string) error {
	var known ledgerdb.WantedState
	err := r.useStore(func(s *ledgerdb.Store) (err error) {
		known, err = s.LoadWanted(ctx, b.Environment)
		return err
	})
	if err != nil {
		return err
	}
	news, err := r.listNew(ctx, b, head, known)
	if err != nil {
		return fmt.Errorf("read the commits of %s: %w", b.Repo, err)
	}
	outputs, commits := newOutputs(b, known.Newest), news.Commits
	outputs.NewLine, outputs.Fork = news.Rewritten, news.Fork
	if len(commits) == 0 && known.Environment == outputs.Environment && (b.Expected == nil || maps.Equal(known.Expected, b.Expected)) {
		return nil
	}
	reader := wanted.NewReader(b, wanted.Known{Newest: known.Newest, Folders: known.Folders})
	for i, commit := range commits {
		change, err := reader.ReadChange(ctx, commit)
		if err != nil {
			return err
		}
		outputs.Changes = append(outputs.Changes, change)
		if len(outputs.Changes) == maxChanges && i < len(commits)-1 {
			if err := r.writeOutputs(ctx, outputs); err != nil {
				return err
			}
			outputs = newOutputs(b, commit)
		}
	}
	return r.writeOutputs(ctx, outputs)
}

// listNew returns unrecorded commits: see [wanted.Branch.ListNew]. A changed folder makes it read
// the head again.
func (r *Recorder) listNew(ctx context.Context, b wanted.Branch, head string, known ledgerdb.WantedState) (wanted.News, error) {
	switch {
	case known.Newest != head:
		return b.ListNew(head, known.Newest, func(commit string) (found bool, err error) {
			err = r.useStore(func(s *ledgerdb.Store) (err error) {
				found, err = s.HasOutput(ctx, b.Environment, commit)
				return err
			})
			return found, err
		})
	case known.Environment.Folder != b.Folder:
		return wanted.News{Commits: []string{head}, Rewritten: true, Fork: head}, nil
	}
	return wanted.News{}, nil
}

func newOutputs(b wanted.Branch, follows string) ledgerdb.Outputs {
	return ledgerdb.Outputs{
		Environment: ledgerdb.Environment{Name: b.Environment, Repo: b.Repo, Branch: b.Branch, Folder: b.Folder, Order: b.Order},
		Follows:     follows, Expected: b.Expected,
	}
}

func (r *Recorder) writeOutputs(ctx context.Context, o ledgerdb.Outputs) error {
	for _, c := range o.Changes {
		err := r.useStore(func(s *ledgerdb.Store) error { return s.WriteParts(ctx, c.Parts) })
		if err != nil {
			return err
		}
	}
	return r.useStore(func(s *ledgerdb.Store) error { return s.WriteOutputs(ctx, o) })
}

// useStore calls use as the only writer. The error is errAway without an open store.
func (r *Recorder) useStore(use func(*ledgerdb.Store) error) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.store == nil {
		return errAway
	}
	return use(r.store)
}
