package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// dataDirWait lets an ending daemon leave the data folder.
const dataDirWait = time.Second

func newFleetExport(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the ledger to standard output, as lines of JSON",
		Long: `Export writes all that the ledger of the settings has, as it is at one time: as a backup, or to
move it from SQLite to PostgreSQL or back. The daemon may run. What it was told within the
last seconds may be missing.`,
		Example: `  fairlead fleet export > ledger.jsonl
  fairlead fleet export | gzip > ledger.jsonl.gz`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return cc.exportLedger(c.Context()) },
	}
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	return c
}

func newFleetImport(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Read what export has written into an empty ledger",
		Long: `Import reads a file that export has written into the ledger of the settings, which must be
empty: whole, or not at all. Stop the daemon before. - reads standard input.`,
		Example: `  fairlead fleet import ledger.jsonl
  gunzip -c ledger.jsonl.gz | fairlead fleet import -`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return cc.importLedger(c.Context(), args[0]) },
	}
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	return c
}

func (cc *commandContext) requireLedger() error {
	err := cc.readSettings()
	switch {
	case err != nil:
		return err
	case cc.settings == nil:
		return usageErrorf("--config FILE names the settings of the daemon", "it is not known where the ledger is: there is no "+defaultSettingsFile+" here")
	case !cc.settings.HasLedger():
		return usageErrorf("write where its secret is into the settings, as ledger: {secret: {file: ledger-secret}}", "the settings have no ledger")
	}
	return nil
}

func (cc *commandContext) exportLedger(ctx context.Context) (err error) {
	err = cc.requireLedger()
	if err != nil {
		return err
	}
	store, err := cc.openStore(ctx, ledgerdb.ReadSQLite, ledgerdb.ReadPostgres)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rows, err := store.Export(ctx, cc.app.stdout)
	if err == nil {
		fmt.Fprintf(cc.app.stderr, "%s exported\n", text.Count(rows, "row"))
	}
	return err
}

func (cc *commandContext) openStore(ctx context.Context, file, postgres func(ctx context.Context, at string) (*ledgerdb.Store, error)) (*ledgerdb.Store, error) {
	if cc.settings.Ledger.Postgres == nil {
		return file(ctx, cc.settings.LedgerFile())
	}
	address, err := cc.settings.LedgerAddress()
	if err != nil {
		return nil, err
	}
	return postgres(ctx, address)
}

func (cc *commandContext) importLedger(ctx context.Context, name string) (err error) {
	err = cc.requireLedger()
	if err != nil {
		return err
	}
	from := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	unlock, err := cc.lockDataDir(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	store, err := cc.openStore(ctx, ledgerdb.OpenSQLite, ledgerdb.OpenPostgres)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rows, err := store.Import(ctx, from)
	var damaged *ledgerdb.LineError
	switch {
	case errors.Is(err, ledgerdb.ErrNotEmpty) && cc.settings.Ledger.Postgres != nil:
		return problem.WithHint(err, "name an empty database in ledger.postgres of the settings")
	case errors.Is(err, ledgerdb.ErrNotEmpty):
		return problem.WithHint(err, "move "+cc.settings.LedgerFile()+" away, and the files beside it whose names begin with the same")
	case errors.As(err, &damaged):
		return problem.WithHint(err, "nothing was imported; export it again, with the same version of Fairlead")
	case err == nil:
		fmt.Fprintf(cc.app.stderr, "%s imported\n", text.Count(rows, "row"))
	}
	return err
}

// lockDataDir locks out daemons until unlock is called.
func (cc *commandContext) lockDataDir(ctx context.Context) (unlock func(), err error) {
	err = os.MkdirAll(cc.settings.DataDir, 0o700)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, dataDirWait)
	defer cancel()
	unlock, err = lock.AcquireWithPID(limited, cc.settings.LockFile())
	if err != nil {
		return nil, problem.WithHint(fmt.Errorf("take the data folder %s: %w", cc.settings.DataDir, err), "stop the daemon, import, and start it again")
	}
	return unlock, nil
}
