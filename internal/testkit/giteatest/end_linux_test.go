package giteatest_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
)

const killedVariable = "GITEATEST_KILLED"

// TestEndsWithItsProcess kills a process that has a server: the server ends too.
func TestEndsWithItsProcess(t *testing.T) {
	if os.Getenv(killedVariable) != "" {
		fmt.Println("\nserver", giteatest.Start(t).URL)
		<-t.Context().Done() // it is killed
		return
	}
	ours := giteatest.Share(t) // there is one, or the test is skipped
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndsWithItsProcess$")
	other.Env = append(os.Environ(), killedVariable+"=1", "TMPDIR="+t.TempDir())
	said, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	url := ""
	for lines := bufio.NewScanner(said); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "server ")
		if !strings.HasPrefix(url, "http://") {
			url = ""
		}
	}
	answers := func() bool {
		client := http.Client{Timeout: time.Minute}
		answer, err := client.Get(url + "/api/v1/version")
		if err == nil {
			err = answer.Body.Close()
		}
		return err == nil
	}
	if !answers() {
		t.Errorf("the other server, %q, does not run", url)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed
	ours.Until(func() bool { return !answers() })
}
