import { systemClock } from '@signet/policy-engine/clock';
import { Command, Option } from 'commander';
import { type DocumentProblem, formatProblem, InvalidDocumentError, InvalidRequestError } from '../errors.ts';
import { checkDocuments } from '../management/check-documents.ts';
import { type Coverage, coverageOf } from '../management/coverage.ts';
import { isCaseFile, parseFolder } from '../management/documents/read-folder.ts';
import { type CaseReport, runCases } from '../management/run-cases.ts';
import { noStore } from '../management/stored-world.ts';
import { type ConnectionOptions, managementOptions } from './connection.ts';
import { describeFailure } from './describe-failure.ts';
import { chosenFiles, documentFiles, type FolderOptions, folderOptions } from './plan/document-files.ts';
import { serverTarget } from './plan/documents-target.ts';
import { action, CommandFailedError, print, UsageError, warn } from './run.ts';

interface TestOptions extends ConnectionOptions, FolderOptions {
  readonly againstServer?: boolean;
  /** True without a number. */
  readonly coverage?: boolean | string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** `signet test`: do the documents, or a server, decide as their authors expect? */
export function testCommand(): Command {
  const command = new Command('test').description('run the policy tests in a folder against its domain documents');
  return folderOptions(managementOptions(command))
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .option('--coverage [percent]', 'list assertions without a test; with a number, fail if the coverage is lower')
    .addOption(new Option('--against-server', 'run the tests on the domains of a server instead').conflicts('coverage'))
    .option('--strict', 'treat warnings as errors')
    .option('--json', 'print JSON')
    .action(action(test));
}

async function test(folder: string, options: TestOptions): Promise<void> {
  if (options.againstServer === true) return testServer(folder, options);
  const least = leastCoverage(options.coverage);
  const server = ['as', 'cert', 'key', 'ca', 'url', 'serverIdentity'] as const;
  if (server.some((name) => options[name] !== undefined))
    throw new UsageError('options for a server need --against-server');
  const { documents, cases } = parseFolder(documentFiles(folder, options));
  const now = systemClock.now();
  const { snapshot, warnings } = checkDocuments(documents, noStore, now, cases);
  const { passed, failures, deciding } = runCases(snapshot, cases, now);
  const coverage = least === undefined ? undefined : coverageOf(documents, deciding);
  const report = { passed, failures, warnings, coverage };
  if (options.json === true) print(asJson(report), true);
  else describe(report);
  const isRefused = options.strict === true && warnings.length > 0;
  if (failures.length > 0 || isRefused || isThin(coverage, least)) throw new CommandFailedError();
}

/** Runs the policy tests alone on what a server has. */
async function testServer(folder: string, options: TestOptions): Promise<void> {
  const files = chosenFiles(folder, options).filter(({ file }) => isCaseFile(file));
  if (files.length === 0) throw new InvalidRequestError(`folder \`${folder}\` holds no policy tests`);
  try {
    // A plan that is strict refuses the warnings, which are told here.
    const { casesPassed: passed, warnings } = await serverTarget(files, { ...options, strict: false }).plan();
    const report = { passed, failures: [], warnings, coverage: undefined };
    if (options.json === true) print(asJson(report), true);
    else describe(report);
    if (options.strict === true && warnings.length > 0) throw new CommandFailedError();
  } catch (error) {
    if (!(error instanceof InvalidDocumentError)) throw error;
    const { problems } = error;
    if (options.json === true) print({ failed: problems.length, failures: problems }, true);
    else print([...problems.flatMap(describeFailure), `${problems.length} failed`], false);
    throw new CommandFailedError();
  }
}

interface Report extends Omit<CaseReport, 'deciding'> {
  readonly warnings: readonly DocumentProblem[];
  readonly coverage: Coverage | undefined;
}

function asJson({ passed, failures, warnings, coverage }: Report) {
  return { passed, failed: failures.length, failures, warnings, ...(coverage !== undefined && { coverage }) };
}

function describe({ passed, failures, warnings, coverage }: Report): void {
  for (const warning of warnings) warn(formatProblem(warning));
  for (const failure of failures) print(describeFailure(failure), false);
  for (const problem of coverage?.uncovered ?? []) print([formatProblem(problem)], false);
  print(`${passed} passed, ${failures.length} failed`, false);
  if (coverage !== undefined) print(`${coverage.covered} of ${coverage.total} assertions covered`, false);
}

function isThin(coverage: Coverage | undefined, least = 0): boolean {
  return coverage !== undefined && percentage(coverage) < least;
}

/** The percentage that must be reached, 0 where coverage is only to be shown; undefined where it is not wanted. */
function leastCoverage(option: boolean | string | undefined): number | undefined {
  if (option === undefined || option === false) return undefined;
  const percent = option === true ? 0 : Number(option);
  if (percent >= 0 && percent <= 100) return percent;
  throw new UsageError('--coverage must be a number from 0 to 100');
}

function percentage({ covered, total }: Coverage): number {
  return total === 0 ? 100 : (100 * covered) / total;
}
