import { escapeControls } from '../../base/terminal-text.ts';
import { CommandFailedError, print } from '../run.ts';
import type { Finding } from './finding.ts';

const marks = { ok: 'ok      ', warning: 'warning ', failed: 'FAILED  ' } as const;

/** Prints what was found, and what to do about it. Throws `CommandFailedError` when something failed. */
export function report(findings: readonly Finding<string>[], json: boolean | undefined): void {
  if (json === true) print({ findings }, true);
  else for (const finding of findings) print(inWords(finding), false);
  if (findings.some(({ state }) => state === 'failed')) throw new CommandFailedError();
}

function inWords({ check, state, found, advice }: Finding<string>): string {
  const line = `${marks[state]} ${check}: ${escapeControls(found)}`;
  return advice === undefined ? line : `${line}\n         what to do: ${advice}`;
}
