package giteatest

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// common is the server that the tests of this process share, once one has asked for it.
var common struct {
	sync.Mutex
	runs   bool // Run is under way
	server *Server
	atEnd  []func()
}

// Run runs the tests of a package with servers, and returns what TestMain exits with. The
// program of these tests is also a hook of the servers.
func Run(m *testing.M) int {
	if name := os.Getenv(hookVariable); name != "" {
		return runHook(name)
	}
	common.Lock()
	common.runs = true
	common.Unlock()
	code := m.Run()
	common.Lock()
	defer common.Unlock()
	for _, end := range slices.Backward(common.atEnd) {
		end()
	}
	return code
}

// Share returns the server that all tests of the package share, and starts it for the first.
// Their repositories must have different names. TestMain must call Run.
func Share(t testing.TB) *Server {
	t.Helper()
	common.Lock()
	defer common.Unlock()
	checkRuns(t)
	if common.server == nil {
		atEnd := func(end func()) { common.atEnd = append(common.atEnd, end) }
		common.server = start(t, func() string {
			dir, err := os.MkdirTemp("", "giteatest-")
			if err != nil {
				t.Fatal(err)
			}
			atEnd(func() {
				err := os.RemoveAll(dir)
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			})
			return dir
		}, atEnd)
	}
	return common.server.In(t)
}

func checkRuns(t testing.TB) {
	t.Helper()
	if !common.runs {
		t.Fatal("a server is for packages whose TestMain calls giteatest.Run")
	}
}
