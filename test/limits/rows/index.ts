import type { Row } from '../row.ts';
import { clientRows } from './client.ts';
import { engineRows } from './policy-engine.ts';
import { serverRows } from './server.ts';
import { certificateRows } from './server-certificates.ts';
import { updaterRows } from './updater.ts';

/** Every bound in the code, and how it is tried. A new `max…` or `min…` gets a row in the file of its package. */
export const rows: readonly Row[] = [...clientRows, ...engineRows, ...serverRows, ...certificateRows, ...updaterRows];
