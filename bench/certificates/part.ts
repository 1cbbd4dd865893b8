import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { compilingAtOnce, type InstructionCounter } from '../measure/instructions.ts';
import { oneAnswer } from '../measure/one-answer.ts';
import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, type Spread, spreadOf } from '../measure/statistics.ts';
import type { CountOrder, Counts } from './counted-works.ts';
import { fullStoreTable } from './full-store.ts';
import { costsOverHttps, overHttps } from './over-https.ts';
import { type LoneWork, syncsOfLone } from './syncs.ts';
import { alone, leastName, newAlone, openWorks, refreshed, runWork, type Work } from './works.ts';

const countScript = new URL('./counted-works.ts', import.meta.url);

const aimOf = (name: string) => (name === refreshed(16) ? 0.6 : 0.5);

async function cpuOf(work: Work, times: number): Promise<number> {
  const start = process.cpuUsage();
  const ran = await runWork(work, times);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / ran;
}

/** The rounds that count, and the repetitions in each. */
function planOf(quick: boolean) {
  return { rounds: 9, times: quick ? 500 : 2000 };
}

async function measure(works: readonly Work[], quick: boolean): Promise<(name: string) => readonly number[]> {
  const results = new Map<string, number[]>(works.map(({ name }) => [name, []]));
  const { rounds, times } = planOf(quick);
  for (let round = 0; round <= rounds; round += 1) {
    for (const work of works) {
      const cost = await cpuOf(work, times);
      if (round > 0) results.get(work.name)?.push(cost); // the first round warms up
    }
  }
  return (name) => results.get(name) ?? [];
}

/** Cost of a certificate, against the least work that it takes and against the certificate library used plainly. */
export async function certificatesPart({ folder, quick, counter }: PartContext): Promise<PartReport> {
  const { rounds, times } = planOf(quick);
  const { works, close } = await openWorks(folder, (rounds + 1) * times);
  const inProcess = await measure(works, quick);
  await close();
  const https = await costsOverHttps(folder, quick);
  const costsOf = (name: string) => (name === overHttps ? https : inProcess(name));
  const shareOf = (name: string) => ratioOf(costsOf(leastName), costsOf(name));
  const counts = counter && (await countedIn(folder, counter));
  const countedShare = (name: string) => counts?.[name] && ratioOf(counts[leastName] ?? [], counts[name]);
  const rows = [...works.map(({ name }) => name), overHttps].map((name) => [
    name,
    formatSpread(spreadOf(costsOf(name))),
    formatSpread(shareOf(name)),
    formatCounted(countedShare(name)),
  ]);
  const reached = works
    .filter(({ name, width }) => name.startsWith('a') && width > 1)
    .map(({ name }) => `- ${name}: ${verdict(shareOf(name).median, aimOf(name), 'at least')}`);
  const syncs = {
    refresh: syncsOfLone('refresh', folder, times / 5),
    register: syncsOfLone('register', folder, times / 5),
  };
  const markdown = [
    '## Certificates',
    'One core, a request with a P-256 key and two names, a P-256 issuer. The least work is to load the key of the request from DER, to verify one P-256 signature and to make one. Sixteen requests are under way at once where nothing else is said; those that come together share the two writes to the disk that a certificate needs.',
    markdownTable(
      ['what', 'processor time, µs', "rate as a share of the least work's", 'the same in instructions'],
      rows,
    ),
    await fullStoreTable({ folder, quick }),
    `The aims, as a share of the least work's rate:\n\n${reached.join('\n')}`,
    `Syncs of the disk for what shares them with none: ${formatSyncs(syncs.refresh)} for a refresh, ${formatSyncs(syncs.register)} for a registration, whose join token is spent before the certificate is signed; a checkpoint of the log, once in a few hundred, has its own.`,
  ].join('\n\n');
  return { markdown, figures: figuresOf(shareOf, countedShare(refreshed(16)), syncs) };
}

/** Instructions of what has an aim, and of the least work. */
async function countedIn(folder: string, counter: InstructionCounter): Promise<Counts> {
  const own = join(folder, 'counted');
  mkdirSync(own);
  const order: CountOrder = {
    folder: own,
    countIn: counter.folder,
    names: [leastName, 'a certificate', refreshed(16)],
  };
  const counts = await oneAnswer(countScript, order, { ...counter, flags: compilingAtOnce });
  if (!isCounts(counts)) throw new Error('no instructions were counted');
  return counts;
}

function isCounts(value: unknown): value is Counts {
  return typeof value === 'object' && value !== null && leastName in value;
}

function formatCounted(share: Spread | undefined): string {
  return share === undefined ? '–' : formatSpread(share);
}

type Syncs = Readonly<Record<LoneWork, number | undefined>>;

const countedRefresh = {
  id: 'certificates/refresh-16/instructions',
  title: `least work of a certificate ÷ ${refreshed(16)}, instructions`,
  unit: '',
} as const;

function formatSyncs(syncs: number | undefined): string {
  return syncs === undefined ? 'not counted' : formatNumber(syncs);
}

function figuresOf(shareOf: (name: string) => Spread, inInstructions: Spread | undefined, syncs: Syncs): Figure[] {
  const share = (id: string, name: string): Omit<Figure, 'aim'> => ({
    id: `certificates/${id}/cpu`,
    title: `least work of a certificate ÷ ${name}, processor time`,
    unit: '',
    value: shareOf(name),
  });
  const counted = (id: string, what: string, count: number | undefined): Figure[] =>
    count === undefined
      ? []
      : [
          {
            id: `certificates/${id}/syncs`,
            title: `syncs of the disk for ${what}`,
            unit: '',
            value: spreadOf([count]),
          },
        ];
  // A checkpoint of the log comes on top of the two now and then.
  const twoSyncs = { kind: 'at most', value: 2.1 } as const;
  return [
    { ...share('refresh-16', refreshed(16)), aim: { kind: 'at least', value: aimOf(refreshed(16)) } },
    ...(inInstructions === undefined ? [] : [{ ...countedRefresh, value: inInstructions }]),
    share('over-https', overHttps),
    share('refresh-alone', alone),
    ...counted('refresh-alone', 'a refresh alone', syncs.refresh).map((figure) => ({ ...figure, aim: twoSyncs })),
    share('register-alone', newAlone),
    ...counted('register-alone', 'a registration with a join token alone', syncs.register),
  ];
}
