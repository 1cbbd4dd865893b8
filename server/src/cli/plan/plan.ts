import { Command, Option } from 'commander';
import { escapeControls } from '../../base/terminal-text.ts';
import { formatProblem, InvalidDocumentError } from '../../errors.ts';
import type { Plan } from '../../management/plan-documents.ts';
import { planFileOf } from '../../management/plan-file.ts';
import { action, CommandFailedError, print, printRaw, UsageError, warn } from '../run.ts';
import { sourceOptions } from '../source.ts';
import { writeOutput } from '../written-output.ts';
import { documentFiles, type FolderOptions, folderOptions } from './document-files.ts';
import { type DocumentsOptions, documentsTarget } from './documents-target.ts';
import { planMarkdown, problemsMarkdown } from './plan-markdown.ts';
import { planText } from './plan-text.ts';

interface PlanOptions extends Omit<DocumentsOptions, 'reason'>, FolderOptions {
  readonly failOn?: 'gain' | 'loss' | 'any';
  readonly out?: string;
  readonly force?: boolean;
  readonly format?: Format;
  readonly json?: boolean;
}

const formats = ['text', 'markdown', 'json'] as const;
type Format = (typeof formats)[number];

/** `signet plan`: what `signet apply` would do, and who gains and who loses which access. */
export function planCommand(): Command {
  const command = new Command('plan').description(
    'show what the domain documents in a folder would change, and who gains or loses access; exit status 1 if `signet apply` would refuse them',
  );
  return folderOptions(sourceOptions(command))
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .addOption(
      new Option('--fail-on <change>', 'exit status 1 if a principal gains access, loses access, or either').choices([
        'gain',
        'loss',
        'any',
      ]),
    )
    .option('--allow-wildcard', 'allow `*` and prefix patterns as members')
    .option('--remove-memberships', 'remove deleted objects from the roles and groups that list them')
    .option('--strict', 'treat warnings as errors')
    .option('--reuse-name', 'reuse deleted names that are still reserved')
    .option('--out <file>', 'write the plan for `signet apply --plan` (mode 0600)')
    .option('--force', 'overwrite the file of --out')
    .addOption(
      new Option(
        '--format <format>',
        'output format: text, Markdown for pull requests, or JSON (default: text)',
      ).choices(formats),
    )
    .option('--json', 'same as `--format json`')
    .action(action(plan));
}

async function plan(folder: string, options: PlanOptions, command: Command): Promise<void> {
  const format = formatOf(options);
  try {
    await planFolder(folder, options, command, format);
  } catch (error) {
    if (error instanceof InvalidDocumentError) {
      if (format === 'json') print({ problems: error.problems }, true);
      if (format === 'markdown') printRaw(problemsMarkdown(error.problems));
    }
    throw error;
  }
}

async function planFolder(folder: string, options: PlanOptions, command: Command, format: Format): Promise<void> {
  const made = await documentsTarget(documentFiles(folder, options), options, command).plan();
  if (options.out !== undefined) {
    await writeOutput(options.out, `${JSON.stringify(planFileOf(made))}\n`, { force: options.force === true });
  }
  say(made, format);
  const isUnwanted = options.failOn !== undefined && fails(made, options.failOn);
  if (isUnwanted || made.refusals.length > 0) throw new CommandFailedError();
}

/** An impact that cannot be told, or not in full, counts as every kind of change. */
function fails({ impact, impactTotals }: Plan, failOn: 'gain' | 'loss' | 'any'): boolean {
  if (impact === undefined || impactTotals?.isExact === false) return true;
  const { gains, losses } = impactTotals ?? countChanges(impact);
  return (failOn !== 'loss' && gains > 0) || (failOn !== 'gain' && losses > 0);
}

function countChanges(impact: NonNullable<Plan['impact']>): { readonly gains: number; readonly losses: number } {
  const gains = impact.filter(({ change }) => change === 'gain').length;
  return { gains, losses: impact.length - gains };
}

function formatOf({ format, json = false }: PlanOptions): Format {
  if (!json) return format ?? 'text';
  if (format !== undefined && format !== 'json')
    throw new UsageError('--json means --format json: use only one of them');
  return 'json';
}

/** Prints on standard output; people read warnings and refusals on standard error as well. */
function say(made: Plan, format: Format): void {
  if (format === 'json') {
    print(made, true);
    return;
  }
  for (const warning of made.warnings) warn(formatProblem(warning));
  if (format === 'markdown') printRaw(planMarkdown(made));
  else process.stdout.write(planText(made, process.stdout));
  for (const refusal of made.refusals) {
    process.stderr.write(`signet: would be refused: ${escapeControls(formatProblem(refusal))}\n`);
  }
}
