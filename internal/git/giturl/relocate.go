package giturl

// Relocate returns the location to read repo from; places is by URL.
func Relocate(repo string, places map[string]string) string {
	for url, place := range places {
		if Normalize(url) == Normalize(repo) {
			return place
		}
	}
	return repo
}
