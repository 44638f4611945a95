//go:build !demo

package daemon

// hasStyleGuide reports whether the page has its style guide: builds with the tag demo have.
const hasStyleGuide = false
