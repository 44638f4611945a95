package model

import "strings"

// labelHint goes with what cannot be a label.
const labelHint = "labels are for selecting; put other text into an annotation"

// isTemplate reports whether a text is to be expanded: Kalypso's users have labels
// that become what they are in the output of a template.
func isTemplate(text string) bool { return strings.Contains(text, "{{") }
