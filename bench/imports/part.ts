import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { packRoom } from '../measure/packed.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { type Spread, spreadOf } from '../measure/statistics.ts';

const [nothing, jose, engine, client] = ['Node that imports nothing', '`jose`', 'the engine', 'the client'];
/** Upper bound of the engine's import beyond that of jose, in milliseconds, and of its memory beyond Node's, in megabytes. */
const [mostMs, mostMegabytes] = [70, 20];

/** Processor time and resident memory of importing a library in a process of its own, as a function or a test does. */
export async function importsPart({ folder, quick }: PartContext): Promise<PartReport> {
  const modules: readonly (readonly [name: string, module?: string])[] = [
    [nothing],
    [jose, 'jose'],
    ['`casbin`', 'casbin'],
    ['`@casl/ability`', '@casl/ability'],
    [engine, pathToFileURL(`${packRoom(folder, 'policy-engine')}/joined/index.js`).href],
    [client, pathToFileURL(`${packRoom(folder, 'client')}/joined/index.js`).href],
  ];
  const costs = new Map<string, Cost[]>(modules.map(([name]) => [name, []]));
  for (let round = 0; round < (quick ? 5 : 21); round += 1) {
    for (const [name, module] of modules) costs.get(name)?.push(costOf(module));
  }
  // Round by round beside another library: the machine did the same to both.
  const beyond = (name: string, base: string, part: keyof Cost): Spread =>
    spreadOf((costs.get(name) ?? []).map((cost, at) => cost[part] - (costs.get(base)?.[at]?.[part] ?? 0)));
  const figures: Figure[] = [
    {
      id: 'imports/engine/cpu',
      title: 'import of the engine, beyond that of jose',
      unit: 'ms',
      value: beyond(engine, jose, 'ms'),
      aim: { kind: 'at most', value: mostMs },
    },
    {
      id: 'imports/engine/memory',
      title: 'resident memory of the engine, beyond that of Node',
      unit: 'MB',
      value: beyond(engine, nothing, 'megabytes'),
      aim: { kind: 'at most', value: mostMegabytes },
    },
  ];
  const rows = modules
    .filter(([name]) => name !== nothing)
    .map(([name]) => [
      name,
      formatSpread(beyond(name, nothing, 'ms')),
      formatSpread(beyond(name, nothing, 'megabytes')),
    ]);
  const text =
    '## Imports\n\nProcessor time, ms, and resident memory, MB, of an import beyond those of a process that imports nothing. Engine and client are installed from their packages.';
  const verdicts = figures.map(
    ({ title, value, aim, unit }) => `- ${title}, ${unit}: ${verdict(value.median, aim?.value ?? 0, 'at most')}`,
  );
  return {
    markdown: [text, markdownTable(['import of', 'processor time', 'resident memory'], rows), verdicts.join('\n')].join(
      '\n\n',
    ),
    figures,
  };
}

interface Cost {
  readonly ms: number;
  readonly megabytes: number;
}

function costOf(module: string | undefined): Cost {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const importing = module === undefined ? '' : `await import(${JSON.stringify(module)});`;
  const script = `${importing}
    const { user, system } = process.cpuUsage();
    console.log((user + system) / 1e3, process.memoryUsage.rss() / 1e6);`;
  const args = ['--input-type=module', '--eval', script];
  const said = execFileSync(process.execPath, args, { cwd: import.meta.dirname, env, encoding: 'utf8' });
  const [ms = Number.NaN, megabytes = Number.NaN] = said.split(' ').map(Number);
  return { ms, megabytes };
}
