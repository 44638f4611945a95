// Package program checks the version of the git command, which serves repositories on this
// machine.
//
// What the package keeps true: a version that is too old is reported before it fails.
package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// The oldest version of Git that is supported.
const (
	leastMajor = 2
	leastMinor = 30
)

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)`)

// versionTimeout bounds how long Git may take to print its version.
const versionTimeout = 10 * time.Second

// Version returns the version of the git command, such as "2.45", or an error if there is no
// git command or it is too old.
func Version(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return "", err
	}
	found := versionPattern.FindStringSubmatch(string(out))
	if found == nil {
		return "", errors.New("git --version does not tell its version")
	}
	major, _ := strconv.Atoi(found[1]) // digits, by the pattern
	minor, _ := strconv.Atoi(found[2])
	if major < leastMajor || major == leastMajor && minor < leastMinor {
		return "", fmt.Errorf("git is version %s; %d.%d or newer is needed", found[0], leastMajor, leastMinor)
	}
	return found[0], nil
}
