package doctor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// lockWait is the time for an ending daemon to release the data folder.
const lockWait = 200 * time.Millisecond

func (d *examination) checkDaemon(ctx context.Context) {
	const folder, address = "settings: dataDir", "settings: listen"
	var running *lock.HeldError
	err := checkWritable(d.config.DataDir)
	if err == nil {
		err = loop.CheckDataFolder(d.config)
	}
	if err == nil {
		running, err = d.findDaemon(ctx)
	}
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &hinted):
		d.addError(Fail, folder, err)
		return
	case err != nil:
		hint := cmp.Or(git.DiskHint(err), "let the user who runs fairlead write there, or write another dataDir into the settings")
		d.addFailure(folder, hint, "%v", err)
		return
	case running != nil:
		d.addOK(folder, "%s is in use: %v, a fairlead serve most likely", d.config.DataDir, running)
		return // its address is in use too
	}
	d.addOK(folder, "%s is free for the daemon", d.config.DataDir)
	if d.config.Listen == "" || d.checkListen == nil {
		return
	}
	if err := d.checkListen(d.config.Listen); err != nil {
		d.addError(Fail, address, err)
		return
	}
	d.addOK(address, "%s is free for the daemon", d.config.Listen)
}

// checkWritable checks that a folder can be written or created, and leaves nothing behind.
func checkWritable(folder string) error {
	there := folder
	for {
		_, err := os.Stat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) || filepath.Dir(there) == there {
			return err
		}
		there = filepath.Dir(there)
	}
	tried, err := os.MkdirTemp(there, ".fairlead-doctor-")
	if err != nil {
		return err
	}
	return os.Remove(tried)
}

func (d *examination) findDaemon(ctx context.Context) (running *lock.HeldError, err error) {
	file := d.config.LockFile()
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil, nil // never used, so create nothing
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	unlock, err := lock.AcquireWithPID(limited, file)
	if errors.As(err, &running) {
		return running, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	return nil, os.WriteFile(file, before, 0o600)
}
