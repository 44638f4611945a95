package archtest

import (
	"go/ast"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// goroutineOwners are the functions that start goroutines and wait for them.
var goroutineOwners = allowances{
	"internal/base/parallel/parallel.go: EachInOrder":           "what is encoded for a pack is written in order",
	"internal/base/parallel/parallel.go: Each":                  "environments, stages and repositories are worked on in parallel",
	"internal/server/display/progress.go: Stream.StartProgress": "shows the time while a command waits, and is waited for when it is stopped",
	"internal/agent/window.go: Agent.runWithWindow":             "health and metrics are answered while the agent runs",
	"internal/server/daemon/replica.go: runReplica":             "renewals go on until the loop has ended, and leave waits for them",
	"internal/server/daemon/daemon.go: runUntilDone":            "the window is open while the loop runs",
	"internal/reconcile/loop/pullevents.go: Loop.beginRecall":   "after a start, forges are asked for the last pull requests beside the cycles, and the end of Run waits for that",
	"internal/reconcile/fetch/fetch.go: Fetcher.startAll":       "sources are fetched beside the rounds, each for a minute at most, and Wait waits for that",
	"internal/reconcile/registry/registry.go: Client.refresh":   "registries are asked beside the rounds, each for some minutes at most, and Close waits for that",
	"internal/server/web/past.go: pastWork.start":               "the past is rendered again beside the requests that wait for it, two at a time, and ends with its timeout",
	"internal/server/web/refreshed.go: refreshed.start":         "history and forecast are read beside the requests that wait for them, one at a time, and end with their timeouts",
	"internal/server/web/serve.go: serveUntilDone":              "serves until it is told to end, and waits for that",
	"internal/testkit/giteatest/process.go: Server.run":         "the server of a test, which the end of the test waits for",
	"internal/testkit/pgtest/server.go: server.begin":           "the server of the tests of a package, whose end pgtest.Run waits for",
	"internal/testkit/gittest/ssh.go: SSHServer.start":          "connections and commands of a test's SSH server, which the end of the test waits for",
}

// checkGoroutines reports goroutines, and calls of a method named Go (of a
// WaitGroup or the like), outside of their owners.
func checkGoroutines(src *source) problem.List {
	return src.goroutineOwners.checkExcept(src, "internal/testkit/archtest/goroutines.go", func(f *file, n ast.Node) problem.List {
		var l problem.List
		if !f.test && startsGoroutine(n) {
			l.Addf(f.pos(n), "", "use a function that waits for what it starts; if this is one, name it in internal/testkit/archtest/goroutines.go",
				"a goroutine is started here")
		}
		return l
	})
}

func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Go"
	}
	return false
}
