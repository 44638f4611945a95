package giturl

// Relocate returns where a repository is read: elsewhere if the places, by URL, say so.
func Relocate(repo string, places map[string]string) string {
	for url, place := range places {
		if Normalize(url) == Normalize(repo) {
			return place
		}
	}
	return repo
}
