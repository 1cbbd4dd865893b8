import { createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { createAuthorities } from '@signet/server/certificates/authority';
import { parseCertificateRequest } from '@signet/server/certificates/csr';
import { grantInstanceNames } from '@signet/server/certificates/csr-rules';
import { type IssueDeps, type SignedCertificate, signOrder } from '@signet/server/certificates/issue-certificate';
import { issuerFromPem } from '@signet/server/certificates/issuer-files';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';
import { issueWithLibrary } from './library.ts';
import { benchRequest } from './request.ts';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const rules = { trustDomain: 'signet.bench', dnsSuffix: 'signet.bench', athenz: false };

/** Reads the request, applies the rules, records the intent, signs, inspects: what the server does for each certificate. */
function issue(deps: IssueDeps, pem: string): Promise<SignedCertificate> {
  const request = parseCertificateRequest(pem);
  const { instanceId, ...names } = grantInstanceNames(request, key, rules, { mayUseSuffix: () => false });
  const { subjectKey } = request;
  const order = { kind: 'instance', names, subjectKey, usage: 'both', defaultSeconds: 86_400, maxSeconds: [] } as const;
  return signOrder(deps, { ...order, holder: parsePrincipalName('media.player'), provider: key.provider, instanceId });
}

/** What no issuing can do without: load the request's key, verify one signature, make one. */
function leastWork(pem: string, privateKey: KeyObject): () => Promise<unknown> {
  const { subjectKey } = parseCertificateRequest(pem);
  const data = randomBytes(400);
  const signature = sign('sha256', data, privateKey);
  const publicKey = createPublicKey(privateKey);
  return async () => {
    createPublicKey({ key: subjectKey.spki, format: 'der', type: 'spki' });
    if (!verify('sha256', data, publicKey, signature)) throw new Error('the signature does not hold');
    return sign('sha256', data, privateKey);
  };
}

/** Requests under way at once: those that come together share a write to the disk. */
const inFlight = 16;

async function cpuOf(work: () => Promise<unknown>, times: number): Promise<number> {
  const start = process.cpuUsage();
  for (let i = 0; i < times; i += inFlight) await Promise.all(Array.from({ length: inFlight }, work));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / (Math.ceil(times / inFlight) * inFlight);
}

/** What a certificate costs, against the least work that it takes and against the certificate library used plainly. */
export async function certificatesPart({ folder, quick }: { folder: string; quick: boolean }): Promise<string> {
  const { intermediate } = await createAuthorities(systemClock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const pem = benchRequest('media.player', 'i-1.instanceid.signet.bench');
  const store = await openSqliteStore(join(folder, 'signet.db'));
  const base = { issuers: { signing: () => issuer }, clock: systemClock, randomBytes };
  const unrecorded: IssueDeps = { ...base, certificates: { intend: () => Promise.resolve() } };
  const recorded: IssueDeps = { ...base, certificates: store.certificates };
  const fleet = Array.from({ length: inFlight }, (_, index) => ({
    key: { ...key, instanceId: parsePathElement(`i-${index}`) },
    presented: '',
  }));
  let turn = 0;
  const nextInstance = () => fleet[turn++ % inFlight] ?? { key, presented: '' };
  const works: readonly (readonly [name: string, work: () => Promise<unknown>, share: number])[] = [
    ['least work', leastWork(pem, issuer.privateKey), 1],
    ['a certificate', () => issue(unrecorded, pem), 1],
    [
      'an instance registered, store included',
      async () => {
        const instance = nextInstance();
        const signed = await issue(recorded, pem);
        await store.instances.register(instance.key, signed, { clientOnly: false }, epochSeconds(systemClock));
        instance.presented = signed.serial;
      },
      1,
    ],
    [
      'an instance refreshed, store included',
      async () => {
        const instance = nextInstance();
        await store.instances.standing(instance.key, instance.presented);
        const signed = await issue(recorded, pem);
        await store.instances.rotate(instance.key, instance.presented, signed, epochSeconds(systemClock));
        instance.presented = signed.serial;
      },
      1,
    ],
    ['the library, used plainly', issueWithLibrary(pem, intermediate), 0.1],
  ];
  const rounds = quick ? 3 : 9;
  const times = quick ? 500 : 2000;
  const results = new Map<string, number[]>(works.map(([name]) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, work, share] of works) {
      const cost = await cpuOf(work, Math.ceil(times * share));
      if (round > 0) results.get(name)?.push(cost); // the first round warms up
    }
  }
  await store.close();
  const least = results.get('least work') ?? [];
  const rows = works.map(([name]) => {
    const costs = results.get(name) ?? [];
    return [name, formatSpread(spreadOf(costs)), formatSpread(ratioOf(least, costs))];
  });
  const reached = ratioOf(least, results.get('a certificate') ?? []).median;
  return [
    '## Certificates',
    'One core, sixteen requests under way at once, a request with a P-256 key and two names, a P-256 issuer. The least work is to load the key of the request, to verify one P-256 signature and to make one.',
    markdownTable(['what', 'processor time, µs', "rate as a share of the least work's"], rows),
    `A certificate reaches the aim of half of the least work's rate, ${verdict(reached, 0.5, 'at least')}.`,
  ].join('\n\n');
}
