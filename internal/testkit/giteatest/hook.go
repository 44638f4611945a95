package giteatest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Variables of a hook that is ours: which it is, and the server that it is for.
const (
	hookVariable   = "GITEATEST_HOOK"
	serverVariable = "GITEATEST_SERVER"
	tokenVariable  = "GITEATEST_TOKEN"
)

// hookScript is what Git runs in place of the hooks that Gitea writes into each repository.
// Each push has three, and each start of Gitea takes longer than all the rest of a push: so
// Gitea is not started where its own code (cmd/hook.go) returns at once, and this test's
// program does what it does where that only asks the server. The update hook refuses
// what is pushed below refs/pull, and no hook does anything for a push that is Gitea's own.
const hookScript = `#!/bin/sh
[ "$GITEA_INTERNAL_PUSH" != true ] || exit 0
hook=${0##*/}
case $hook in
update)
	case $1 in refs/pull/*) exit 1 ;; esac
	exit 0
	;;
pre-receive | post-receive)
	export ` + hookVariable + `="$hook" ` + serverVariable + `='%[1]s' ` + tokenVariable + `='%[2]s'
	exec '%[3]s'
	;;
esac
exec '%[4]s' hook --config='%[5]s' "$hook" "$@"
`

// hooksName is the folder of the hooks, below the server's.
const hooksName = "hooks"

func (s *Server) writeHooks() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	text := fmt.Sprintf(hookScript, s.URL, s.internalToken, program, filepath.Join(s.bin, "gitea"), s.path("app.ini"))
	if err := os.MkdirAll(s.path(hooksName), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"pre-receive", "update", "post-receive", "proc-receive"} {
		if err := os.WriteFile(filepath.Join(s.path(hooksName), name), []byte(text), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// pushed is what the server is told of a push (modules/private/hook.go of Gitea).
type pushed struct {
	OldCommitIDs, NewCommitIDs, RefFullNames []string

	UserID                                    int64
	UserName                                  string
	GitObjectDirectory                        string
	GitAlternativeObjectDirectories           string
	GitQuarantinePath                         string
	GitPushOptions                            map[string]string
	PullRequestID, DeployKeyID, ActionsTaskID int64
	PushTrigger                               string
	IsWiki                                    bool
}

// heard is what the server answers.
type heard struct {
	UserMessage string `json:"user_msg"`
	Results     []struct {
		Message, Create bool
		Branch, URL     string
	}
}

// runHook is a hook that Git runs, and returns its exit code.
func runHook(name string) int {
	err := tellPush(name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "error:\nerror: %v\nerror:\n", err)
		return 1
	}
	return 0
}

// tellPush asks the server whether a push may be, or tells it that it was, and says what it
// says of it.
func tellPush(name string) error {
	told, err := readPush()
	if err != nil || len(told.RefFullNames) == 0 {
		return err
	}
	body, err := json.Marshal(told)
	if err != nil {
		return err
	}
	at := os.Getenv(serverVariable) + "/api/internal/hook/" + name + "/" +
		url.PathEscape(os.Getenv("GITEA_REPO_USER_NAME")) + "/" + url.PathEscape(os.Getenv("GITEA_REPO_NAME"))
	req, err := http.NewRequest(http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Real-IP", "127.0.0.1")
	req.Header.Set("X-Gitea-Internal-Auth", "Bearer "+os.Getenv(tokenVariable))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if name == "pre-receive" && answer.StatusCode == http.StatusOK {
		return nil // in a word, not as JSON
	}
	var is heard
	if err := json.Unmarshal(said, &is); err != nil {
		return fmt.Errorf("%s: %w: %s", answer.Status, err, said)
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(is.UserMessage)
	}
	for _, r := range is.Results {
		switch {
		case r.Message && r.Create:
			fmt.Fprintf(os.Stderr, "\nCreate a new pull request for '%s':\n  %s\n\n", r.Branch, r.URL)
		case r.Message:
			fmt.Fprintf(os.Stderr, "\nVisit the existing pull request:\n  %s\n\n", r.URL)
		}
	}
	return nil
}

// readPush reads what Git and Gitea say of a push: its refs on the standard input, all else
// in variables.
func readPush() (pushed, error) {
	told := pushed{
		UserID:                          number("GITEA_PUSHER_ID"),
		UserName:                        os.Getenv("GITEA_PUSHER_NAME"),
		GitObjectDirectory:              os.Getenv("GIT_OBJECT_DIRECTORY"),
		GitAlternativeObjectDirectories: os.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
		GitQuarantinePath:               os.Getenv("GIT_QUARANTINE_PATH"),
		GitPushOptions:                  map[string]string{},
		PullRequestID:                   number("GITEA_PR_ID"),
		DeployKeyID:                     number("GITEA_DEPLOY_KEY_ID"),
		ActionsTaskID:                   number("GITEA_ACTIONS_TASK_ID"),
		PushTrigger:                     os.Getenv("GITEA_PUSH_TRIGGER"),
		IsWiki:                          os.Getenv("GITEA_REPO_IS_WIKI") == "true",
	}
	for i := range number("GIT_PUSH_OPTION_COUNT") {
		key, value, ok := strings.Cut(os.Getenv(fmt.Sprintf("GIT_PUSH_OPTION_%d", i)), "=")
		if ok {
			told.GitPushOptions[key] = value
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		was, rest, _ := strings.Cut(lines.Text(), " ")
		is, ref, _ := strings.Cut(rest, " ")
		told.OldCommitIDs = append(told.OldCommitIDs, was)
		told.NewCommitIDs = append(told.NewCommitIDs, is)
		told.RefFullNames = append(told.RefFullNames, ref)
	}
	return told, lines.Err()
}

func number(variable string) int64 {
	n, err := strconv.ParseInt(os.Getenv(variable), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
