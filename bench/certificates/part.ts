import { createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { randomOctets } from '@signet/server/random-octets';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import type { IssueDeps } from '@signet/server/x509/issue-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { loadSubjectKey } from '@signet/server/x509/subject-key';
import type { Figure, PartContext, PartReport } from '../measure/figure.ts';
import { formatNumber, formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, type Spread, spreadOf } from '../measure/statistics.ts';
import { fleetOf, issue } from './fleet.ts';
import { fullStoreTable } from './full-store.ts';
import { issueWithLibrary } from './library.ts';
import { registrationsIn } from './registrations.ts';
import { benchRequest } from './request.ts';
import { type LoneWork, syncsOfLone } from './syncs.ts';

/** What no issuing can do without: load the request's key, verify one signature, make one. */
function leastWork(pem: string, privateKey: KeyObject, load: (spki: Buffer) => unknown): () => Promise<unknown> {
  const { subjectKey } = parseCertificateRequest(pem);
  const data = randomBytes(400);
  const signature = sign('sha256', data, privateKey);
  const publicKey = createPublicKey(privateKey);
  return async () => {
    load(subjectKey.spki);
    if (!verify('sha256', data, publicKey, signature)) throw new Error('the signature does not hold');
    return sign('sha256', data, privateKey);
  };
}

const loadDer = (spki: Buffer) => createPublicKey({ key: spki, format: 'der', type: 'spki' });

/** Requests under way at once: those that come together share a write to the disk. */
const widths = [16, 64] as const;

const refreshed = (width: number) => `an instance refreshed, store included, ${width} at once`;
const aimOf = (name: string) => (name === refreshed(16) ? 0.6 : 0.5);
/** Alone, each takes its two writes to the disk for itself. */
const alone = 'an instance refreshed, store included, alone';
/** From the body of the request on: its token is spent, all of it is decided, and decided again where it is recorded. */
const newAlone = 'an instance registered with a join token, store included, alone';
/** Of the repetitions of others: what is alone waits for the disk. */
const loneShare = 0.1;

interface Work {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  readonly width: number;
  /** Of the repetitions. */
  readonly share?: number;
}

async function cpuOf({ run, width, share = 1 }: Work, times: number): Promise<number> {
  const batches = Math.ceil((times * share) / width);
  const start = process.cpuUsage();
  for (let batch = 0; batch < batches; batch += 1) await Promise.all(Array.from({ length: width }, run));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / (batches * width);
}

/** The rounds that count, and the repetitions in each. */
function planOf(quick: boolean) {
  return { rounds: quick ? 3 : 9, times: quick ? 500 : 2000 };
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

/** What a certificate costs, against the least work that it takes and against the certificate library used plainly. */
export async function certificatesPart({ folder, quick }: PartContext): Promise<PartReport> {
  const { intermediate } = await createAuthorities(systemClock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const pem = benchRequest('media.player', 'i-1.instanceid.signet.bench');
  const store = await openSqliteStore(join(folder, 'signet.db'));
  const base = { issuers: { signing: () => issuer }, clock: systemClock, randomBytes: randomOctets() };
  const unrecorded: IssueDeps = { ...base, certificates: { intend: () => Promise.resolve() } };
  const { register, refresh } = fleetOf(store, { ...base, certificates: store.certificates }, pem);
  const registrations = await registrationsIn(store, issuer);
  const { rounds, times } = planOf(quick);
  await registrations.prepare((rounds + 1) * times * loneShare);
  const works: readonly Work[] = [
    { name: 'least work', run: leastWork(pem, issuer.privateKey, loadDer), width: 16 },
    {
      name: 'least work, the key read as Signet reads it',
      run: leastWork(pem, issuer.privateKey, (spki) => loadSubjectKey({ spki })),
      width: 16,
    },
    { name: 'a certificate', run: () => issue(unrecorded, pem), width: 16 },
    ...widths.map((width) => ({
      name: `an instance registered, store included, ${width} at once`,
      run: register,
      width,
    })),
    ...widths.map((width) => ({
      name: refreshed(width),
      run: refresh,
      width,
    })),
    { name: alone, run: refresh, width: 1, share: loneShare },
    { name: newAlone, run: registrations.register, width: 1, share: loneShare },
    { name: 'the library, used plainly', run: issueWithLibrary(pem, intermediate), width: 16, share: 0.1 },
  ];
  const costsOf = await measure(works, quick);
  await registrations.close();
  await store.close();
  const shareOf = (name: string) => ratioOf(costsOf('least work'), costsOf(name));
  const rows = works.map(({ name }) => [name, formatSpread(spreadOf(costsOf(name))), formatSpread(shareOf(name))]);
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
    markdownTable(['what', 'processor time, µs', "rate as a share of the least work's"], rows),
    await fullStoreTable({ folder, quick }),
    `The aims, as a share of the least work's rate:\n\n${reached.join('\n')}`,
    `Syncs of the disk for what shares them with none: ${formatSyncs(syncs.refresh)} for a refresh, ${formatSyncs(syncs.register)} for a registration, whose join token is spent before the certificate is signed; a checkpoint of the log, once in a few hundred, has its own.`,
  ].join('\n\n');
  return { markdown, figures: figuresOf(shareOf, syncs) };
}

type Syncs = Readonly<Record<LoneWork, number | undefined>>;

function formatSyncs(syncs: number | undefined): string {
  return syncs === undefined ? 'not counted' : formatNumber(syncs);
}

function figuresOf(shareOf: (name: string) => Spread, syncs: Syncs): Figure[] {
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
    share('refresh-alone', alone),
    ...counted('refresh-alone', 'a refresh alone', syncs.refresh).map((figure) => ({ ...figure, aim: twoSyncs })),
    share('register-alone', newAlone),
    ...counted('register-alone', 'a registration with a join token alone', syncs.register),
  ];
}
