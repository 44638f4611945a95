package ledgerdb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotEmpty reports an import into a ledger that is not empty.
var ErrNotEmpty = errors.New("the ledger is not empty")

// LineError is an error in a line of an import.
type LineError struct {
	Line int
	Err  error
}

// Error includes the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

const (
	exportFormat = "fairlead-ledger"
	// exportVersion changes with each migration of tables or columns.
	exportVersion = 3
	// longestLine is in bytes.
	longestLine = 1 << 20
)

// frame is the first or last line.
type frame struct {
	Format  string `json:"format,omitempty"` // first line
	Version int    `json:"version,omitempty"`
	End     bool   `json:"end,omitempty"` // last line
	Rows    int    `json:"rows,omitempty"`
}

// Export writes a consistent snapshot as JSON lines with header and footer, and returns the number
// of rows. The Store is for nothing else.
func (s *Store) Export(ctx context.Context, to io.Writer) (rows int, err error) {
	s.engine.allowLong()
	out := bufio.NewWriter(to)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	err = lines.Encode(frame{Format: exportFormat, Version: exportVersion})
	if err != nil {
		return 0, err
	}
	err = s.engine.read(ctx, func(in session) error {
		for _, t := range exportedTables {
			err := in.query(ctx, exportPrefix+t.name, nil, func(scan scanFunc) error {
				row, values := t.newRow()
				err := scan(values...)
				if err != nil {
					return err
				}
				rows++
				return lines.Encode(map[string]any{t.name: row})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = lines.Encode(frame{End: true, Rows: rows})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return rows, fmt.Errorf("export the ledger: %w", err)
	}
	return rows, nil
}

// newRow returns a row, and pointers to its values; nil means null.
func (t table) newRow() (row map[string]any, places []any) {
	row = map[string]any{}
	for _, c := range t.columns {
		var place any
		switch c.kind {
		case textColumn:
			place = new(*string)
		case longColumn:
			place = new(*longText)
		case boolColumn:
			place = new(*bool)
		case numberColumn:
			place = new(*int64)
		}
		row[c.name] = place
		places = append(places, place)
	}
	return row, places
}

// Import reads an export into an empty ledger as a whole, and returns the number of rows. Errors
// include [LineError] and ErrNotEmpty.
func (s *Store) Import(ctx context.Context, from io.Reader) (rows int, err error) {
	s.engine.allowLong()
	err = s.engine.transact(ctx, func(in session) error {
		err := checkEmpty(ctx, in)
		if err != nil {
			return err
		}
		r := importer{session: in, lines: bufio.NewScanner(from)}
		r.lines.Buffer(nil, longestLine)
		err = r.readAll(ctx)
		rows = r.rows
		return err
	})
	s.ids = newIdentities()
	var queued *queuedError
	if errors.As(err, &queued) { // only rows are queued
		err = &LineError{queued.number + 1, fmt.Errorf("does not fit: %w", queued.err)}
	}
	if err != nil {
		return 0, fmt.Errorf("import the ledger: %w", err)
	}
	return rows, nil
}

func checkEmpty(ctx context.Context, in session) error {
	for _, t := range exportedTables {
		found := false
		err := in.query(ctx, anyPrefix+t.name, nil, func(scanFunc) error {
			found = true
			return nil
		})
		if err != nil {
			return err
		}
		if found {
			return ErrNotEmpty
		}
	}
	return nil
}

type importer struct {
	session
	lines *bufio.Scanner
	line  int
	rows  int
	table int
}

func (r *importer) failf(format string, args ...any) error {
	return &LineError{r.line, fmt.Errorf(format, args...)}
}

func (r *importer) readAll(ctx context.Context) error {
	for r.lines.Scan() {
		r.line++
		line := r.lines.Bytes()
		var err error
		switch {
		case r.line == 1:
			err = r.readHead(line)
		case bytes.HasPrefix(line, []byte(`{"end":`)):
			return r.readEnd(line)
		default:
			err = r.readRow(ctx, line)
		}
		if err != nil {
			return err
		}
	}
	r.line++
	err := r.lines.Err()
	if err != nil {
		return r.failf("cannot be read: %w", err)
	}
	return r.failf("is missing: the text was cut off")
}

func (r *importer) readHead(line []byte) error {
	var head frame
	err := json.Unmarshal(line, &head)
	switch {
	case err != nil || head.Format != exportFormat:
		return r.failf("this is no export of a ledger")
	case head.Version != exportVersion:
		return r.failf("the export has version %d, and this program knows %d", head.Version, exportVersion)
	}
	return nil
}

func (r *importer) readEnd(line []byte) error {
	var end frame
	err := json.Unmarshal(line, &end)
	switch {
	case err != nil:
		return r.failf("is damaged: %w", err)
	case end.Rows != r.rows:
		return r.failf("%d rows should be before it, and there are %d", end.Rows, r.rows)
	case r.lines.Scan():
		r.line++
		return r.failf("follows the end")
	}
	return nil
}

// readRow requires the order of exportedTables.
func (r *importer) readRow(ctx context.Context, line []byte) error {
	var found map[string]json.RawMessage
	err := json.Unmarshal(line, &found)
	if err != nil || len(found) != 1 {
		return r.failf("is damaged: it is not a row")
	}
	for name, text := range found {
		for r.table < len(exportedTables) && exportedTables[r.table].name != name {
			r.table++
		}
		if r.table == len(exportedTables) {
			return r.failf("the table %s is not known, or comes too late", name)
		}
		values, err := exportedTables[r.table].readValues(text)
		if err != nil {
			return r.failf("is damaged: %w", err)
		}
		err = r.exec(ctx, importPrefix+name, values...)
		if err != nil {
			return r.failf("does not fit: %w", err)
		}
		r.rows++
	}
	return nil
}

// readValues requires exactly the table's columns.
func (t table) readValues(text []byte) ([]any, error) {
	row, places := t.newRow()
	var found map[string]json.RawMessage
	err := json.Unmarshal(text, &found)
	if err != nil {
		return nil, err
	}
	var values []any
	for i, c := range t.columns {
		value, ok := found[c.name]
		if !ok {
			return nil, fmt.Errorf("%s has no %s", t.name, c.name)
		}
		err := json.Unmarshal(value, row[c.name])
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", c.name, t.name, err)
		}
		values = append(values, readPlace(places[i]))
	}
	if len(found) > len(t.columns) {
		return nil, fmt.Errorf("%s has columns that are not known: its columns are %s", t.name, strings.Join(t.columnNames(), ", "))
	}
	return values, nil
}

func (t table) columnNames() (all []string) {
	for _, c := range t.columns {
		all = append(all, c.name)
	}
	return all
}

// readPlace returns a value of newRow; nil for null.
func readPlace(place any) any {
	switch p := place.(type) {
	case **int64:
		if *p != nil {
			return **p
		}
	case **string:
		if *p != nil {
			return **p
		}
	case **longText:
		if *p != nil {
			return **p
		}
	case **bool:
		if *p != nil {
			return **p
		}
	}
	return nil
}
