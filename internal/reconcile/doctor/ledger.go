package doctor

import (
	"context"
	"errors"
	"io/fs"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// checkLedger adds what a daemon of this version does to the ledger when it starts. It migrates nothing.
func (d *examination) checkLedger(ctx context.Context) {
	const what, backup = "ledger: schema", "keep a copy with fairlead fleet export of the version that runs now, if you may want to go back"
	if !d.config.HasLedger() {
		return
	}
	store, err := d.openLedger(ctx)
	if err == nil {
		err = store.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.addOK(what, "there is no ledger yet")
	case errors.Is(err, ledgerdb.ErrNewer):
		d.addFailure(what, "run the newer version, or move the ledger away: the state of clusters is filled again, and their history is lost", "%v", err)
	case errors.Is(err, ledgerdb.ErrOlder):
		d.addWarning(what, backup, "this version migrates the ledger when it starts, and the version before cannot read it then: %v", err)
	case err != nil:
		d.addWarning(what, "the checks above may say why; fairlead fleet list asks the daemon", "it cannot be read: %v", err)
	default:
		d.addOK(what, "this version leaves it as it is")
	}
}

func (d *examination) openLedger(ctx context.Context) (*ledgerdb.Store, error) {
	if d.config.Ledger.Postgres == nil {
		return ledgerdb.ReadSQLite(ctx, d.config.LedgerFile())
	}
	address, err := d.config.LedgerAddress()
	if err != nil {
		return nil, err
	}
	return ledgerdb.ReadPostgres(ctx, address)
}
