package observe

// NewSmallInbox returns an Inbox that has room for so many objects.
func NewSmallInbox(file string, limit int) (*Inbox, error) { return newInbox(file, limit) }
