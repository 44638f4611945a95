package model

import (
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Lanes says which parts of the base are lanes: parts that may be promoted by themselves.
type Lanes struct {
	// Each is a folder followed by "/*": each file and each folder in it is a lane. "" if the lanes are named.
	Each  string
	Named []Lane
	Pos   problem.Pos
}

// Lane is a named part of the base.
type Lane struct {
	Name string
	// Paths are patterns of files and folders. What is below a folder that matches belongs to the lane too.
	Paths []string
	Pos   problem.Pos
}

// PlatformLane is the name, in text, of what no lane has.
const PlatformLane = "platform"

// anyDepth, as the last part of a pattern, matches all that is below a folder.
const anyDepth = "**"

// NewLanes returns the lanes of a pattern, as spec.lanes.each of a Promotion has it. reason says why it cannot be one.
func NewLanes(each string) (lanes *Lanes, reason string) {
	folder, isEach := strings.CutSuffix(each, "/*")
	if !isEach || strings.ContainsAny(folder, `*?[\`) {
		return nil, fmt.Sprintf("%q is not a folder followed by /*", each)
	}
	return &Lanes{Each: each}, refusePattern(each)
}

// refusePattern returns why a text cannot be a pattern of paths of the base; "" if it can.
func refusePattern(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		_, err := path.Match(part, "")
		if err != nil || part == "" || part == "." || part == ".." || strings.Contains(part, anyDepth) && (part != anyDepth || i == 0 || i < len(parts)-1) {
			return fmt.Sprintf("%q is not a pattern of files of the base", pattern)
		}
	}
	for _, own := range []string{".environments", ".fairlead"} {
		if is, _ := path.Match(parts[0], own); is {
			return fmt.Sprintf("%q matches %s, which belongs to all environments", pattern, own)
		}
	}
	return ""
}
