import { readFileSync } from 'node:fs';
import { systemClock } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { formatProblem, InvalidDocumentError, PolicyTestsFailedError } from '../errors.ts';
import { type ApplySummary, applyDocuments } from '../management/apply-documents.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { parsePlanFile, plannedState } from '../management/plan-file.ts';
import { parseReason } from '../management/require-reason.ts';
import { openStore } from '../store/open.ts';
import { describeFailure } from './describe-failure.ts';
import { documentRulesOf } from './document-rules.ts';
import { localActor } from './local-user.ts';
import { withProgress } from './progress.ts';
import { action, CommandFailedError, configPathOf, print, warn } from './run.ts';
import { escapeControls } from './terminal-text.ts';

interface ApplyOptions {
  readonly reason?: string;
  readonly plan?: string;
  readonly allowWildcard?: boolean;
  readonly removeMemberships?: boolean;
  readonly reuseName?: boolean;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** `signet apply`: the store becomes what the documents say. */
export function applyCommand(): Command {
  return new Command('apply')
    .description('apply the domain documents in a folder to the store in one transaction')
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .option('--reason <text>', 'reason, recorded in the audit log')
    .option('--allow-wildcard', 'allow `*` and prefix patterns as members')
    .option('--remove-memberships', 'remove deleted objects from the roles and groups that list them')
    .option('--strict', 'treat warnings as errors')
    .option('--reuse-name', 'reuse deleted names that are still reserved')
    .option('--plan <file>', 'refuse if the store or the documents changed since `signet plan --out <file>`')
    .option('--json', 'print JSON')
    .action(action(apply));
}

async function apply(folder: string, options: ApplyOptions, command: Command): Promise<void> {
  try {
    await applyFolder(folder, options, command);
  } catch (error) {
    if (!(error instanceof InvalidDocumentError)) throw error;
    reportRefusal(error, options.json === true);
    throw new CommandFailedError();
  }
}

async function applyFolder(folder: string, options: ApplyOptions, command: Command): Promise<void> {
  const documents = readDocumentFolder(folder);
  const planned =
    options.plan === undefined ? undefined : plannedState(parsePlanFile(readFileSync(options.plan, 'utf8')), documents);
  const config = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(config.store);
  try {
    const context = {
      actor: localActor(),
      ...(options.reason !== undefined && { reason: parseReason(options.reason) }),
    };
    const rules = documentRulesOf(options, config);
    const summary = await withProgress((onProgress) =>
      applyDocuments(store, documents, context, {
        now: systemClock.now(),
        onProgress,
        ...rules,
        ...(planned !== undefined && { planned }),
      }),
    );
    report(summary, options.json === true);
  } finally {
    await store.close();
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
