import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { escapeControls } from '../base/terminal-text.ts';
import { formatProblem, InvalidDocumentError, PolicyTestsFailedError } from '../errors.ts';
import type { ApplySummary } from '../management/apply-documents.ts';
import { parsePlanFile } from '../management/plan-file.ts';
import { describeFailure } from './describe-failure.ts';
import { approvalOptions } from './manage/commands.ts';
import { documentFiles, type FolderOptions, folderOptions } from './plan/document-files.ts';
import { type DocumentsOptions, documentsTarget } from './plan/documents-target.ts';
import { printRequest } from './request/request-answer.ts';
import { action, CommandFailedError, print, warn } from './run.ts';
import { sourceOptions } from './source.ts';

interface ApplyOptions extends DocumentsOptions, FolderOptions {
  readonly plan?: string;
  readonly json?: boolean;
}

/** `signet apply`: the store becomes what the documents say. */
export function applyCommand(): Command {
  const command = new Command('apply').description(
    'apply the domain documents in a folder to the store in one transaction',
  );
  return approvalOptions(folderOptions(sourceOptions(command)))
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .option('--allow-wildcard', 'allow `*` and prefix patterns as members')
    .option('--remove-memberships', 'remove deleted objects from the roles and groups that list them')
    .option('--strict', 'treat warnings as errors')
    .option('--reuse-name', 'reuse deleted names that are still reserved')
    .option('--plan <file>', 'refuse if the effect is not that of `signet plan --out <file>` any more')
    .option('--json', 'print JSON')
    .action(action(apply));
}

async function apply(folder: string, options: ApplyOptions, command: Command): Promise<void> {
  try {
    const files = documentFiles(folder, options);
    const digest = options.plan === undefined ? undefined : parsePlanFile(readFileSync(options.plan, 'utf8'));
    const applied = await documentsTarget(files, options, command).apply(digest);
    if ('request' in applied) printRequest(applied.request, options.json);
    else report(applied, options.json === true);
  } catch (error) {
    if (!(error instanceof InvalidDocumentError)) throw error;
    reportRefusal(error, options.json === true);
    throw new CommandFailedError();
  }
}

function report(summary: ApplySummary, json: boolean): void {
  if (json) {
    print(summary, true);
    return;
  }
  for (const warning of summary.warnings) warn(formatProblem(warning));
  for (const { name, outcome, version } of summary.domains) print(`${name}: ${outcome}, version ${version}`, false);
  print(`${summary.casesPassed} cases passed`, false);
}

/** Reports a refusal: with `json` programs get the problems on standard output; people read them on standard error in any case. */
function reportRefusal(error: InvalidDocumentError, json: boolean): void {
  const { problems } = error;
  if (json) print({ applied: false, problems }, true);
  const what = error instanceof PolicyTestsFailedError ? 'failing policy tests' : 'problems in the documents';
  const lines = [`signet: nothing was applied, ${what}: ${problems.length}`, ...problems.flatMap(describeFailure)];
  for (const line of lines) process.stderr.write(`${escapeControls(line)}\n`);
}
