package observe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// spareLines is how many lines the file has at most besides those that count.
const spareLines = 1000

// reportFile is the file of an Inbox: JSON lines, each an Event or a lossLine, in any order. It is
// replaced as a whole when too many lines do not count.
type reportFile struct {
	path  string
	lines int
	// damaged is set if the file must not be added to: it may end in the middle of a line, have
	// lines that cannot be read, or not be there.
	damaged bool
}

// lossLine is the line of a Loss.
type lossLine struct {
	Lost *Loss `json:"lost"`
}

// readFile reads what the last process has written. The error is a warning. What a line said that is
// damaged is lost; only the last line may be torn, because the daemon has not acknowledged its event.
func (i *Inbox) readFile() error {
	f := &i.file
	data, err := os.ReadFile(f.path)
	if err != nil {
		f.damaged = true // what is there, if anything, is not added to
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		i.losses[""] = Loss{Time: time.Now(), Reason: "the file of reports could not be read"}
		return err
	}
	damaged, lost := 0, 0
	for line := range bytes.Lines(data) {
		f.lines++
		if i.readLine(line) {
			continue
		}
		damaged++
		if line[len(line)-1] == '\n' {
			lost++
		}
	}
	i.flushed = i.newest
	f.damaged = damaged > 0 || len(data) > 0 && data[len(data)-1] != '\n'
	if damaged == 0 {
		return nil
	}
	if lost > 0 {
		i.losses[""] = Loss{Time: modifiedTime(f.path), Reason: fmt.Sprintf("%d of %d lines in the file of reports were damaged", lost, f.lines)}
	}
	return fmt.Errorf("%s: %d of %d lines are damaged, and what they said is forgotten", f.path, damaged, f.lines)
}

// readLine reads a line of the file, and reports whether it is a good one.
func (i *Inbox) readLine(text []byte) bool {
	var l struct {
		Event
		Lost *Loss `json:"lost"`
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return false
	}
	if l.Lost != nil {
		i.losses[l.Lost.Environment] = *l.Lost
		return true
	}
	if l.Object == "" || l.When.IsZero() || l.Phase == "" && l.Runs == "" && l.Commit == "" && l.Version == "" {
		return false
	}
	if l.When.After(i.newest) {
		i.newest = l.When
	}
	if i.admit(l.Event) {
		i.book.Fold(l.Report())
	}
	return true
}

// modifiedTime returns when a file was last written; the time now if that is not known.
func modifiedTime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Now()
	}
	return info.ModTime()
}

// appendLines adds lines to the file. One that was removed is not made again here: it would lack the
// other lines.
func (f *reportFile) appendLines(lines []any) error {
	text, err := encodeLines(lines)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		f.damaged = true
		return err
	}
	_, err = out.Write(text)
	f.damaged = err != nil
	f.lines += len(lines)
	return errors.Join(err, out.Close())
}

func encodeLines(lines []any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, l := range lines {
		if err := encoder.Encode(l); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// replaceLines puts a file with these lines in the place of the old one.
func (f *reportFile) replaceLines(lines []any) error {
	err := ReplaceFile(f.path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		for _, l := range lines {
			err := encoder.Encode(l)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		f.lines, f.damaged = len(lines), false
	}
	return err
}

// ReplaceFile puts a file with what write writes in the place of one that may be there. It is on disk
// before the old one goes.
func ReplaceFile(path string, write func(io.Writer) error) error {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it is not there if all went well
	buffer := bufio.NewWriter(out)
	err = write(buffer)
	if err == nil {
		err = errors.Join(buffer.Flush(), out.Sync())
	}
	err = errors.Join(err, out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
