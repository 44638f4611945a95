package ledgerdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// ErrOvertaken reports that another process has stored newer outputs.
var ErrOvertaken = errors.New("the ledger has newer outputs")

// Environment is an environment and the place of its output.
type Environment struct {
	Name, Repo, Branch, Folder string
	Order                      int // position in promotion order
}

// WantedState is the stored wanted state of an environment.
type WantedState struct {
	Environment Environment
	Newest      string
	Folders     map[string]string // tree ids by cluster type
	// Expected is the number of clusters by type, where known.
	Expected map[string]int

	seq, line int64
	merged    time.Time
}

// Outputs are new outputs of an environment.
type Outputs struct {
	Environment Environment
	// Follows is the newest stored output. NewLine is set for a rewritten branch; Fork is then the
	// last common stored output, or "".
	Follows, Fork string
	NewLine       bool
	Changes       []ledger.OutputChange // oldest first, after WriteParts
	// Expected is the number of clusters by type; nil keeps the stored one.
	Expected map[string]int
}

// LoadWanted reads the stored wanted state of an environment.
func (s *Store) LoadWanted(ctx context.Context, environment string) (w WantedState, err error) {
	err = s.engine.read(ctx, func(in session) error {
		w, err = loadWanted(ctx, in, environment)
		return err
	})
	if err != nil {
		return w, fmt.Errorf("read the ledger: %w", err)
	}
	return w, nil
}

func loadWanted(ctx context.Context, in session, environment string) (WantedState, error) {
	w := WantedState{Folders: map[string]string{}, Expected: map[string]int{}}
	err := in.query(ctx, "output_newest", []any{environment}, func(scan scanFunc) error {
		var merged int64
		e := &w.Environment
		err := scan(&e.Name, &e.Repo, &e.Branch, &e.Folder, &e.Order, &w.seq, &w.line, &w.Newest, &merged)
		w.merged = timeOf(merged)
		return err
	})
	if err != nil {
		return w, err
	}
	return w, in.query(ctx, "types_load", []any{environment}, func(scan scanFunc) error {
		var name, folder string
		var expected *int64
		err := scan(&name, &expected, &folder)
		if folder != "" {
			w.Folders[name] = folder
		}
		if expected != nil {
			w.Expected[name] = int(*expected)
		}
		return err
	})
}

// HasOutput reports whether a commit is a stored output.
func (s *Store) HasOutput(ctx context.Context, environment, commit string) (found bool, err error) {
	err = s.ask(ctx, "output_find", []any{environment, commit}, func(scan scanFunc) error {
		var id int64
		found = true
		return scan(&id)
	})
	return found, err
}

// maxFiles limits a transaction, during which reports wait.
const maxFiles = 5000

// WriteParts writes the contents of files, by blob id. It may be interrupted: unused files do no
// harm.
func (s *Store) WriteParts(ctx context.Context, parts map[string][]ledger.Part) error {
	for digests := range slices.Chunk(slices.Sorted(maps.Keys(parts)), maxFiles) {
		err := s.engine.transact(ctx, func(in session) error { return writeParts(ctx, in, digests, parts) })
		if err != nil {
			return fmt.Errorf("write the ledger: %w", err)
		}
	}
	return nil
}

func writeParts(ctx context.Context, in session, digests []string, parts map[string][]ledger.Part) error {
	for _, digest := range digests {
		err := in.exec(ctx, "reconciler_file_write", digest)
		if err != nil {
			return err
		}
		for _, p := range parts[digest] {
			pinned := any(nil)
			if p.Pinned != "" {
				pinned = p.Pinned
			}
			err := in.exec(ctx, "part_write", digest, p.Object, p.Repo, p.Ref, p.Path, pinned)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteOutputs writes new outputs and their arrivals in one transaction. It returns ErrOvertaken if
// they do not follow the stored ones.
func (s *Store) WriteOutputs(ctx context.Context, o Outputs) error {
	err := s.engine.transact(ctx, func(in session) error {
		known, err := loadWanted(ctx, in, o.Environment.Name)
		if err == nil && known.Newest != o.Follows {
			err = ErrOvertaken
		}
		if err != nil {
			return err
		}
		w := outputWriter{session: in}
		w.next, err = w.writeRow(ctx, "output_next")
		if err != nil {
			return err
		}
		since, err := w.writeAll(ctx, o, known)
		if err != nil || len(o.Changes) == 0 {
			return err
		}
		return w.exec(ctx, "arrival_of_environment", o.Environment.Name, unixOf(since))
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

type outputWriter struct {
	session
	environment int64
	seq, line   int64
	next        int64
	types       map[string]int64
	former      map[string][]int64 // previous ids by commit
}

func (w *outputWriter) writeAll(ctx context.Context, o Outputs, known WantedState) (earliest time.Time, err error) {
	e := o.Environment
	w.environment, err = w.writeRow(ctx, "environment_write", e.Name, e.Repo, e.Branch, e.Folder, int64(e.Order))
	if err != nil {
		return earliest, err
	}
	w.types, w.seq, w.line = map[string]int64{}, known.seq, max(known.line, 1)
	if o.NewLine && known.Newest != "" {
		w.line++
		err := w.exec(ctx, "output_abandon", w.environment, w.line, o.Fork)
		if err == nil {
			err = w.exec(ctx, "output_return", w.environment, o.Fork)
		}
		if err != nil {
			return earliest, err
		}
	}
	for i, c := range o.Changes {
		if o.NewLine && c.Merged.Before(known.merged) { // wanted before, and again now
			c.Merged = known.merged
		}
		if i == 0 || c.Merged.Before(earliest) {
			earliest = c.Merged
		}
		err := w.writeChange(ctx, c)
		if err != nil {
			return earliest, err
		}
	}
	return earliest, w.writeExpected(ctx, o.Expected, known.Expected)
}

func (w *outputWriter) writeRow(ctx context.Context, statement string, args ...any) (id int64, err error) {
	err = w.query(ctx, statement, args, func(scan scanFunc) error { return scan(&id) })
	return id, err
}

func (w *outputWriter) writeChange(ctx context.Context, c ledger.OutputChange) error {
	w.seq++
	err := w.exec(ctx, "output_write", w.takeID(c.Revision), w.environment, w.seq, w.line, c.Revision, c.Base, c.Plane, unixOrNull(c.Authored), unixOf(c.Merged))
	if err != nil {
		return err
	}
	files := map[string][]ledger.FileChange{}
	for _, f := range c.Files {
		files[f.ClusterType] = append(files[f.ClusterType], f)
	}
	for _, f := range c.Folders {
		err := w.writeFolder(ctx, f, files[f.ClusterType])
		if err != nil {
			return err
		}
	}
	return nil
}

// takeID reuses the id of an output that is written again, because arrivals refer to it.
func (w *outputWriter) takeID(commit string) int64 {
	ids := w.former[commit]
	if len(ids) > 0 {
		w.former[commit] = ids[1:]
		return ids[0]
	}
	w.next++
	return w.next - 1
}

func (w *outputWriter) writeFolder(ctx context.Context, f ledger.FolderChange, files []ledger.FileChange) error {
	id, err := w.findType(ctx, f.ClusterType)
	if err == nil {
		err = w.exec(ctx, "desired_type_end", id, w.seq)
	}
	if err == nil && f.ID != "" {
		err = w.exec(ctx, "desired_type_begin", id, w.seq, f.ID)
	}
	if err == nil && f.Whole {
		files, err = w.findDifference(ctx, id, f.ClusterType, files)
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		err := w.writeFile(ctx, id, file, f.Whole)
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *outputWriter) findType(ctx context.Context, name string) (int64, error) {
	id, known := w.types[name]
	if known {
		return id, nil
	}
	id, err := w.writeRow(ctx, "type_write", w.environment, name)
	w.types[name] = id
	return id, err
}

// findDifference returns the difference to the stored files; files only stored are removed.
func (w *outputWriter) findDifference(ctx context.Context, clusterType int64, name string, files []ledger.FileChange) ([]ledger.FileChange, error) {
	stored := map[string]string{}
	err := w.query(ctx, "desired_load", []any{clusterType}, func(scan scanFunc) error {
		var target, digest string
		err := scan(&target, &digest)
		stored[target] = digest
		return err
	})
	if err != nil {
		return nil, err
	}
	var changed []ledger.FileChange
	for _, f := range files {
		digest, known := stored[f.Target]
		delete(stored, f.Target)
		switch {
		case digest == f.Digest:
			continue
		case known:
			changed = append(changed, ledger.FileChange{ClusterType: name, Target: f.Target})
		}
		changed = append(changed, f)
	}
	for _, target := range slices.Sorted(maps.Keys(stored)) {
		changed = append(changed, ledger.FileChange{ClusterType: name, Target: target})
	}
	return changed, nil
}

// writeFile replaces a target's file. ended is set if the old one was ended already.
func (w *outputWriter) writeFile(ctx context.Context, clusterType int64, f ledger.FileChange, ended bool) error {
	if !ended || f.Digest == "" {
		err := w.exec(ctx, "desired_end", clusterType, f.Target, w.seq)
		if err != nil {
			return err
		}
	}
	if f.Digest == "" {
		return nil
	}
	err := w.exec(ctx, "assignment_write", clusterType, f.Target)
	if err != nil {
		return err
	}
	return w.exec(ctx, "desired_begin", clusterType, f.Target, w.seq, f.Digest)
}

func (w *outputWriter) writeExpected(ctx context.Context, wanted, known map[string]int) error {
	if wanted == nil {
		return nil
	}
	for name := range known {
		_, ok := wanted[name]
		if !ok {
			err := w.exec(ctx, "type_expect", w.environment, name, nil)
			if err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		n, ok := known[name]
		if ok && n == wanted[name] {
			continue
		}
		err := w.exec(ctx, "type_expect", w.environment, name, int64(wanted[name]))
		if err != nil {
			return err
		}
	}
	return nil
}
