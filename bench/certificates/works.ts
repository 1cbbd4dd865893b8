import { createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { randomOctets } from '@signet/server/base/random-octets';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import type { IssueDeps } from '@signet/server/x509/issue-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { loadSubjectKey } from '@signet/server/x509/subject-key';
import { fleetOf, fleetSize, issue } from './fleet.ts';
import { issueWithLibrary } from './library.ts';
import { registrationsIn } from './registrations.ts';
import { benchRequest } from './request.ts';

export interface Work {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  /** Requests under way at once. */
  readonly width: number;
  /** Share of the repetitions. */
  readonly share?: number;
}

export const leastName = 'least work';
export const refreshed = (width: number) => `an instance refreshed, store included, ${width} at once`;
/** Alone, each takes its two writes to the disk for itself. */
export const alone = 'an instance refreshed, store included, alone';
/** From the body of the request on: its token is spent, all of it is decided, and decided again where it is recorded. */
export const newAlone = 'an instance registered with a join token, store included, alone';

/** Widths of concurrent requests, which share a write to the disk. */
const widths = [16, 64] as const;
/** Share of repetitions for lone work, which waits for the disk. */
const loneShare = 0.1;

/** Least work of issuing: load the request's key, verify one signature, make one. */
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

/** Works to measure, over a store of its own in the folder; `times` is the maximum number of runs of each. */
export async function openWorks(
  folder: string,
  times: number,
): Promise<{ readonly works: readonly Work[]; close(): Promise<void> }> {
  const { intermediate } = await createAuthorities(systemClock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const pem = benchRequest('media.player', 'i-1.instanceid.signet.bench');
  const store = await openSqliteStore(join(folder, 'signet.db'));
  const base = { issuers: { signing: () => issuer }, clock: systemClock, randomBytes: randomOctets() };
  const unrecorded: IssueDeps = { ...base, certificates: { intend: () => Promise.resolve() } };
  const { register, refresh } = fleetOf(store, { ...base, certificates: store.certificates }, pem);
  for (let turn = 0; turn < fleetSize; turn += 1) await register();
  const registrations = await registrationsIn(store, issuer);
  await registrations.prepare(times * loneShare);
  const works: readonly Work[] = [
    { name: leastName, run: leastWork(pem, issuer.privateKey, loadDer), width: 16 },
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
    ...widths.map((width) => ({ name: refreshed(width), run: refresh, width })),
    { name: alone, run: refresh, width: 1, share: loneShare },
    { name: newAlone, run: registrations.register, width: 1, share: loneShare },
    { name: 'the library, used plainly', run: issueWithLibrary(pem, intermediate), width: 16, share: 0.1 },
  ];
  return {
    works,
    close: async () => {
      await registrations.close();
      await store.close();
    },
  };
}

/** Runs a work at least `times`, with its own width. Returns the number of runs. */
export async function runWork({ run, width, share = 1 }: Work, times: number): Promise<number> {
  const batches = Math.ceil((times * share) / width);
  for (let batch = 0; batch < batches; batch += 1) await Promise.all(Array.from({ length: width }, run));
  return batches * width;
}
