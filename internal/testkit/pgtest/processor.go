package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux counts the processor time of other processes.
const tick = 10 * time.Millisecond

// ProcessorTime returns what the server has used of processors, with its processes that have ended. Where
// that is not known, as it is on Linux, the test is skipped.
func (d *Database) ProcessorTime() time.Duration {
	d.t.Helper()
	main := strconv.Itoa(d.server.ran.Process.Pid)
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		d.t.Skip("the processor time of a PostgreSQL is not known here")
	}
	ticks := int64(0)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), ") ") // what is before is its name
		fields := strings.Fields(after)
		isMain := filepath.Base(filepath.Dir(file)) == main
		if !isMain && fields[1] != main {
			continue
		}
		times := fields[11:13] // its own
		if isMain {
			times = fields[11:15] // and those of its children that have ended
		}
		for _, field := range times {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				d.t.Fatal(fmt.Errorf("read %s: %w", file, err))
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * tick
}
