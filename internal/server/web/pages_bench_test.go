package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// BenchmarkPages makes each kind of page with 100,000 assignments: anew after a change of the state, and kept.
func BenchmarkPages(b *testing.B) {
	store := largeStore(b)
	h, cycle := open(store), int64(100)
	for _, address := range largePages(store) {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/kept=%v", strings.ReplaceAll(strings.Trim(address, "/"), "/", "_"), kept), func(b *testing.B) {
				var took []time.Duration
				askAs(h, address, "", "gzip")
				for b.Loop() {
					if !kept {
						cycle++
						store.SetCycle(status.Cycle{Number: cycle, Outcome: status.OutcomeOK})
					}
					began := time.Now()
					w := askAs(h, address, "", "gzip")
					took = append(took, time.Since(began))
					if w.Code != http.StatusOK {
						b.Fatal(w.Body)
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
				b.ReportMetric(float64(askAs(h, address, "", "gzip").Body.Len()), "bytes")
			})
		}
	}
}

// viewers is how many people look at the page at once.
const viewers = 1000

// BenchmarkViewers has a thousand people look at the overview: they load it, and each is told of a change.
func BenchmarkViewers(b *testing.B) {
	b.Run("load", func(b *testing.B) {
		h := open(largeStore(b))
		for b.Loop() {
			for range viewers {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept-Encoding", "gzip")
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "cpu-s/1000-viewers")
	})
	b.Run("follow", func(b *testing.B) {
		store := largeStore(b)
		_, network := liveSite(b, Options{Store: store, Now: func() time.Time { return noon }})
		before := heapBytes()
		var connections []net.Conn
		var readers []*bufio.Reader
		for range viewers {
			c, r := network.follow(b)
			readVersion(r)
			connections, readers = append(connections, c), append(readers, r)
		}
		taken := heapBytes() - before
		states := []status.State{status.Failed, status.InSync}
		for i := 0; b.Loop(); i++ {
			store.SetEnvironment(status.Environment{Name: "dev", State: states[i%2], Reason: "it changes", Checked: noon})
			for _, r := range readers {
				if readVersion(r) == "" {
					b.Fatal("a reader is cut off")
				}
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s-until-all-know")
		b.ReportMetric(float64(taken)/(1<<20), "MiB/1000-viewers")
		for _, c := range connections {
			_ = c.Close()
		}
	})
}

// heapBytes returns how much memory is in use, with stacks.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkTimeline makes the overview of 20 environments and 500 commits: after a change of the state.
func BenchmarkTimeline(b *testing.B) {
	h, _ := openTimeline(b)
	for _, address := range []string{"/", "/?at=2026-11-13T00:00:00Z"} {
		b.Run(strings.Trim(address, "/?"), func(b *testing.B) {
			used := usedCPU(b)
			for i := 0; b.Loop(); i++ {
				if w := askAs(h, fmt.Sprintf("%s%sn=%d", address, map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")], i), "", ""); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
			b.ReportMetric(float64((usedCPU(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// usedCPU returns how long processors have worked for this process: other processes may slow it down.
func usedCPU(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
