import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { budgetsPart } from './budgets/part.ts';
import { certificatesPart } from './certificates/part.ts';
import { connectionsPart } from './connections/part.ts';
import { decisionsPart } from './decisions/part.ts';
import { gate, gateUsage } from './gate/gate.ts';
import { handshakesPart } from './handshakes/part.ts';
import { holdsPart } from './holds/part.ts';
import { impactPart } from './impact/part.ts';
import { importsPart } from './imports/part.ts';
import { loadingPart } from './loading/part.ts';
import type { Figure, PartContext, PartReport } from './measure/figure.ts';
import { callgrindCounter } from './measure/instructions.ts';
import { describeMachine } from './measure/machine.ts';
import { writeRunData } from './measure/run-data.ts';
import { memoryPart } from './memory/part.ts';
import { metricsPart } from './metrics/part.ts';
import { type Options, type Part, parseOptions, UsageError, usage } from './options.ts';
import { postgresPart } from './postgres/part.ts';
import { prose, proseUsage } from './prose/prose.ts';
import { reportUsage, writeReport } from './results/write.ts';
import { sizesPart } from './sizes/part.ts';
import { startPart } from './start/part.ts';
import { tokenPart } from './token/part.ts';
import { unchangedPart } from './unchanged/part.ts';
import { workersPart } from './workers/part.ts';

type RunPart = (context: PartContext) => Promise<PartReport>;

const runners: Record<Part, RunPart> = {
  token: tokenPart,
  unchanged: unchangedPart,
  decisions: decisionsPart,
  loading: loadingPart,
  impact: impactPart,
  imports: importsPart,
  holds: holdsPart,
  certificates: certificatesPart,
  sizes: sizesPart,
  budgets: budgetsPart,
  postgres: postgresPart,
  metrics: metricsPart,
  connections: connectionsPart,
  handshakes: handshakesPart,
  memory: memoryPart,
  start: startPart,
  workers: workersPart,
};

async function main(options: Options): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  const write = (text: string): void => {
    console.log(text);
    if (options.out !== undefined) appendFileSync(options.out, `${text}\n`);
  };
  if (options.out !== undefined) writeFileSync(options.out, '');
  const figures: Figure[] = [];
  try {
    write(`Machine: ${describeMachine()}\n`);
    for (const part of options.parts) {
      const own = join(folder, part);
      mkdirSync(own);
      const report = await runners[part]({
        folder: own,
        quick: options.quick,
        counter: options.count ? callgrindCounter(own) : undefined,
      });
      write(`${report.markdown}\n`);
      figures.push(...report.figures);
    }
    if (options.data !== undefined) writeRunData(options.data, { machine: describeMachine(), figures });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const words = process.argv.slice(2);
const [command, ...rest] = words;
try {
  if (words.includes('--help')) console.log([usage, gateUsage, reportUsage, proseUsage].join('\n'));
  else if (command === 'gate') gate(rest);
  else if (command === 'report') writeReport(rest);
  else if (command === 'prose') prose(rest);
  else await main(parseOptions(words));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
