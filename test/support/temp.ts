import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ending } from './start-server.ts';

/** A new empty folder that is removed when the test or the file ends. */
export function temporaryFolder(t: Ending): string {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
