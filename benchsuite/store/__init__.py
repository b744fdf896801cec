"""Records: what cells left behind, one append-only file per run."""

from benchsuite.store.reader import Store, read_store
from benchsuite.store.records import CellRecord, ErrorInfo
from benchsuite.store.writer import RunWriter, new_run_id, utc_now

__all__ = ["CellRecord", "ErrorInfo", "RunWriter", "Store", "new_run_id", "read_store", "utc_now"]
