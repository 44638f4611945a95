// Package program checks the version of the git command, which serves local repositories.
//
// What the package keeps true: an old version is reported before it fails.
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

const (
	leastMajor = 2
	leastMinor = 30
)

var versionPattern = regexp.MustCompile(`(\d+)\.(\d+)`)

const versionTimeout = 10 * time.Second

// Version returns the version, such as "2.45", or an error if git is missing or too old.
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
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	if major < leastMajor || major == leastMajor && minor < leastMinor {
		return "", fmt.Errorf("git is version %s; %d.%d or newer is needed", found[0], leastMajor, leastMinor)
	}
	return found[0], nil
}
