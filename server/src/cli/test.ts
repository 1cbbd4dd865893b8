import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { formatProblem } from '../errors.ts';
import { checkDocuments } from '../management/apply-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { type CaseFailure, runCases } from '../management/run-cases.ts';
import { action, CommandFailedError, print } from './run.ts';

interface TestOptions {
  readonly json?: boolean;
}

/** `signet test`: do the documents decide as their authors expect? Needs no store and no server. */
export function testCommand(): Command {
  return new Command('test')
    .description('run the cases of a folder against its documents')
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .option('--json', 'print JSON')
    .action(action(test));
}

function test(folder: string, options: TestOptions): void {
  const { documents, cases } = readDocumentFolder(folder);
  const now = systemClock.now();
  const { snapshot, warnings } = checkDocuments(documents, new Map(), now);
  const { passed, failures } = runCases(snapshot, cases, now);
  if (options.json === true) {
    print({ passed, failed: failures.length, failures, warnings }, true);
  } else {
    for (const warning of warnings) process.stderr.write(`signet: warning: ${formatProblem(warning)}\n`);
    for (const failure of failures) print(describe(failure), false);
    print(`${passed} passed, ${failures.length} failed`, false);
  }
  if (failures.length > 0) throw new CommandFailedError();
}

function describe(failure: CaseFailure): string {
  const note = failure.note === undefined ? '' : `\n  ${failure.note}`;
  return `${formatProblem(failure)}${note}`;
}
