// Package gittest provides tests with real Git repositories: bare ones served over HTTP
// (git http-backend) and SSH, work trees of the people who edit, and servers that
// fail on demand.
//
// What it keeps true: commits have the same ids in every run and on every machine,
// and no settings of the person who runs the tests are read; every process and
// request has ended when the test has; an answer is made in full, and noted down,
// before the client is given its first byte, so that a test that has seen an answer
// also sees what the server did and noted.
//
// Most questions that clients ask over HTTP are answered in this process, as a start of git
// takes more time than most answers: lists of references, fetches by commit, and pushes that
// succeed. Git answers all that is rare or fails, and one that it has answered is not asked
// again where nothing has changed. What tests ask of a repository is read in this process, too, where
// it is plainly there. TestInside and TestRead compare the two. Tests of what speaks with git
// have git answer everything ([ServeGit], [Server.LeaveToGit]), and with GITTEST_ONLY_GIT=1 all tests do.
//
// It needs the git command, with git-http-backend. People who edit (Work) reach
// their repository by its path: only what is tested talks to a server.
package gittest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// start is the time of the first commit of every repository.
var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Git runs git in dir, fails the test if git does, and returns what it printed,
// trimmed. Author and committer are a@example.com on 2026-01-01T00:00:00Z unless
// the environment says otherwise (GIT_AUTHOR_…, GIT_COMMITTER_…).
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	question, isLasting := lastingQuestion(args)
	if answer, known := lastingAnswers.Load(question); isLasting && known {
		return answer.(string)
	}
	answer := strings.TrimSpace(mustRun(t, dir, nil, "", args...))
	if isLasting {
		lastingAnswers.Store(question, answer)
	}
	return answer
}

// lastingAnswers are by question. Tests make the same commits again and again, and a start of git takes longer than
// most of what they test.
var lastingAnswers sync.Map

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// lastingQuestion returns the text of a question that has one answer for ever, in each repository that has the commits.
func lastingQuestion(args []string) (string, bool) {
	var commits []string
	switch args[0] {
	case "merge-base", "merge-tree":
		commits = args[1:]
	case "rev-list":
		if len(args) == 3 && args[1] == "--count" {
			commits = strings.SplitN(args[2], "..", 2)
		}
	}
	isName := func(arg string) bool { return !commitID.MatchString(arg) }
	return strings.Join(args, " "), len(commits) > 1 && !slices.ContainsFunc(commits, isName)
}

// mustRun runs git with more environment and an input, and returns all that it printed.
func mustRun(t testing.TB, dir string, env []string, input string, args ...string) string {
	t.Helper()
	out, err := attempt(dir, env, input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func attempt(dir string, env []string, input string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(testEnvironment(), env...)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}

// testEnvironment is that of the test, without what would make git do other things
// elsewhere. The later of two entries of a name counts.
func testEnvironment() []string {
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GIT_AUTHOR_") && !strings.HasPrefix(v, "GIT_COMMITTER_")
	})
	return slices.Concat(identityVariables(), inherited, isolationVariables())
}

func identityVariables() []string {
	return append(dateVariables(start),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

func dateVariables(at time.Time) []string {
	date := at.Format(time.RFC3339)
	return []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
}

// isolationVariables keeps git from reading the user's settings and ignored files, asking
// questions, using a proxy, and tidying up in the background after the test.
func isolationVariables() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC", "no_proxy=*",
		"GIT_CONFIG_COUNT=4",
		"GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_CONFIG_KEY_1=core.fsync", "GIT_CONFIG_VALUE_1=none",
		"GIT_CONFIG_KEY_2=init.defaultBranch", "GIT_CONFIG_VALUE_2=main",
		"GIT_CONFIG_KEY_3=maintenance.auto", "GIT_CONFIG_VALUE_3=false",
	}
}

// Refs returns all refs of a repository: the full name of each, and its object id.
func Refs(t testing.TB, dir string) map[string]string {
	t.Helper()
	refs := map[string]string{}
	if all, err := listReferences(dir); err == nil {
		for name, id := range all.ids {
			refs[name] = id.String()
		}
		return refs
	}
	for line := range strings.Lines(mustRun(t, dir, nil, "", "for-each-ref", "--format=%(objectname) %(refname)")) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = id
	}
	return refs
}

// Commit returns the id of the commit that a revision is.
func Commit(t testing.TB, dir, rev string) string {
	t.Helper()
	if id, err := readReference(dir, rev); err == nil {
		return id.String()
	}
	return Git(t, dir, "rev-parse", rev+"^{commit}")
}

// Show returns the content of a file of a revision.
func Show(t testing.TB, dir, rev, path string) string {
	t.Helper()
	if text, err := readFile(dir, rev, path); err == nil {
		return text
	}
	return mustRun(t, dir, nil, "", "cat-file", "blob", rev+":"+path)
}

// Files returns the files of a revision: the path of each, and its content. That of
// a symbolic link is where it points to.
func Files(t testing.TB, dir, rev string) map[string]string {
	t.Helper()
	if files, err := readFiles(dir, rev); err == nil {
		return files
	}
	return showFiles(t, dir, rev)
}

// showFiles is Files as git answers it.
func showFiles(t testing.TB, dir, rev string) map[string]string {
	t.Helper()
	var paths []string
	var ids strings.Builder
	for entry := range strings.SplitSeq(mustRun(t, dir, nil, "", "ls-tree", "-rz", rev), "\x00") {
		meta, path, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(meta); len(fields) == 3 && fields[1] == "blob" {
			paths = append(paths, path)
			ids.WriteString(fields[2] + "\n")
		}
	}
	batch := bufio.NewReader(strings.NewReader(mustRun(t, dir, nil, ids.String(), "cat-file", "--batch")))
	files := map[string]string{}
	for _, path := range paths {
		text, err := blob(batch)
		if err != nil {
			t.Fatalf("read %s of %s: %v", path, rev, err)
		}
		files[path] = text
	}
	return files
}

// blob reads the next answer of git cat-file --batch.
func blob(r *bufio.Reader) (string, error) {
	var id, kind string
	var size int
	if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
		return "", err
	}
	text := make([]byte, size+1) // a line feed follows
	_, err := io.ReadFull(r, text)
	return string(text[:size]), err
}
