import { systemClock } from '@signet/policy-engine/clock';
import { Command, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { formatProblem } from '../errors.ts';
import { readDocumentFolder } from '../management/documents/read-folder.ts';
import { type Plan, planDocuments } from '../management/plan-documents.ts';
import { planFileOf } from '../management/plan-file.ts';
import { openStore } from '../store/open.ts';
import { describeImpact } from './describe-impact.ts';
import { documentRulesOf } from './document-rules.ts';
import { action, CommandFailedError, configPathOf, print, warn } from './run.ts';
import { escapeControls } from './terminal-text.ts';
import { writeOutput } from './written-output.ts';

interface PlanOptions {
  readonly failOn?: 'gain' | 'loss' | 'any';
  readonly out?: string;
  readonly force?: boolean;
  readonly allowWildcard?: boolean;
  readonly removeMemberships?: boolean;
  readonly reuseName?: boolean;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** `signet plan`: what `signet apply` would do, and who gains and who loses which access. */
export function planCommand(): Command {
  return new Command('plan')
    .description(
      'say what the documents of a folder would change, and whose access; exit status 1 when `signet apply` would refuse them',
    )
    .argument('<dir>', 'folder with <domain>.yaml and <domain>.cases.yaml')
    .addOption(
      new Option('--fail-on <change>', 'exit status 1 when somebody gains or loses access, or either').choices([
        'gain',
        'loss',
        'any',
      ]),
    )
    .option('--allow-wildcard', 'let `*` and prefixes become members')
    .option('--remove-memberships', 'take what is deleted out of the roles and groups that list it')
    .option('--strict', 'refuse what is otherwise warned of')
    .option('--reuse-name', 'use names that were deleted before their reservation ends')
    .option('--out <file>', 'write the plan for `signet apply --plan` (mode 0600)')
    .option('--force', 'write over the file of --out')
    .option('--json', 'print JSON')
    .action(action(plan));
}

async function plan(folder: string, options: PlanOptions, command: Command): Promise<void> {
  const documents = readDocumentFolder(folder);
  const config = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(config.store, { readonly: true });
  try {
    const rules = documentRulesOf(options, config);
    const made = await planDocuments(store, documents, systemClock.now(), rules);
    if (options.out !== undefined) {
      const text = `${JSON.stringify(planFileOf(made.state, documents))}\n`;
      await writeOutput(options.out, text, { force: options.force === true });
    }
    if (options.json === true) print(made, true);
    else describe(made);
    const isUnwanted = options.failOn !== undefined && fails(made, options.failOn);
    if (isUnwanted || made.refusals.length > 0) throw new CommandFailedError();
  } finally {
    await store.close();
  }
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

const signs = { create: '+', change: '~', delete: '-' } as const;

function describe({ changes, impact, impactTotals, warnings, refusals, casesPassed }: Plan): void {
  for (const warning of warnings) warn(formatProblem(warning));
  for (const { change, kind, domain, name } of changes) {
    print(`${signs[change]} ${kind} ${kind === 'domain' ? name : `${domain}: ${name}`}`, false);
  }
  if (changes.length === 0) print('nothing would change', false);
  for (const line of describeImpact(impact, impactTotals)) print(line, false);
  print(`${casesPassed} cases passed`, false);
  for (const refusal of refusals) {
    process.stderr.write(`signet: would be refused: ${escapeControls(formatProblem(refusal))}\n`);
  }
}
