import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { field, json, keyPem } from './instance-world.ts';
import { createPki, type Pki } from './pki.ts';
import { principalToken } from './principal-token.ts';
import { ecPair, requestPem } from './requests.ts';
import { revoke } from './revoke.ts';
import {
  type Caller,
  type CallerOptions,
  caller,
  type Ending,
  form,
  startServer,
  type TestServer,
} from './start-server.ts';

/** Presented credential: none that is valid, an invalid one, or a valid one that names the operator, or a principal without rights. */
export type Kind = (typeof kinds)[number];
export const tokensAlone = ['new token alone', 'token alone'] as const;
export const kinds = [
  'nothing',
  'bad certificate',
  'bad token',
  ...tokensAlone,
  'new token',
  'token',
  'role',
  'service',
  'operator',
] as const;

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const domains = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: { 0: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString() } },
    roles: { operators: ['sys.auth.operator'] },
    policies: { operators: [['ALLOW', 'operators', '*', '*']] },
  },
  { name: 'media', services: { player: {}, studio: {}, off: false } },
  { name: 'asleep', enabled: false, services: { any: {} }, roles: { reader: ['media.player'] } },
  { name: 'catalog', services: { api: {} }, roles: { reader: ['media.player', 'sys.auth.operator'] } },
] as const;

/** Credential of a caller, with a connection of its own. */
interface Credential {
  readonly name: string;
  readonly kind: Kind;
  readonly call: Caller;
  readonly headers: Readonly<Record<string, string>>;
}

type Present = (kind: Kind, name: string, who?: CallerOptions, headers?: Credential['headers']) => void;

const now = systemClock.now();
const atDay = (day: number) => now + day * 86_400_000;
const ofOperator = (ageSeconds: number, key = pair.privateKey) =>
  principalToken({ now: now - ageSeconds * 1000, key, fields: { d: 'sys.auth', n: 'operator' } });
const asToken = (value: string) => ({ 'svc-principal-auth': value, 'athenz-principal-auth': value });
const asBearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Headers in which proxies name the holder of a certificate that they have checked. */
function proxyHeaders(certificate: string): Credential['headers'] {
  const text = encodeURIComponent(certificate);
  return {
    'x-forwarded-client-cert': `Cert="${text}";Subject="CN=sys.auth.operator"`,
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-user': 'sys.auth.operator',
    'x-ssl-client-cert': text,
    'ssl-client-cert': text,
    'client-cert': `:${Buffer.from(certificate).toString('base64')}:`,
    forwarded: 'for=127.0.0.1;proto=https',
  };
}

/** A certificate of the server's own, which was revoked. */
async function revokedCertificate(file: Ending, server: TestServer, operator: CallerOptions): Promise<CallerOptions> {
  const keys = ecPair();
  const csr = requestPem(keys, { commonNames: ['user.vera'] });
  const { body } = await caller(file, server, operator)('/principal/user.vera/certificate', json({ csr }));
  const certificate = String(field(body, 'certificate'));
  const serial = new X509Certificate(certificate).serialNumber.toLowerCase();
  const revocation = { reason: 'superseded', at: Math.floor(now / 1000), by: 'test' } as const;
  if (!(await revoke(server.store, serial, revocation))) throw new Error('the certificate is not known');
  await server.running.refresh();
  return { certificate, key: keyPem(keys) };
}

async function presentBadCertificates(pki: Pki, present: Present): Promise<void> {
  const operator = { subject: 'CN=sys.auth.operator' };
  const bad: readonly (readonly [name: string, certificate: Promise<CallerOptions>])[] = [
    ['of another authority', createPki().then((other) => other.identity('sys.auth.operator'))],
    ['that signs itself', pki.odd({ ...operator, selfSigned: true })],
    ['that has expired', pki.odd({ ...operator, notBefore: atDay(-2), notAfter: atDay(-1) })],
    ['of tomorrow', pki.odd({ ...operator, notBefore: atDay(1), notAfter: atDay(2) })],
    ['for servers', pki.odd({ ...operator, usages: ['1.3.6.1.5.5.7.3.1'] })],
    ['of a disabled service', pki.identity('media.off')],
    ['of a disabled domain', pki.identity('asleep.any')],
    ['of no known service', pki.identity('media.ghost')],
    ['of a role of a disabled domain', pki.odd({ subject: 'CN=asleep:role.reader' })],
    ['of a role of no known domain', pki.odd({ subject: 'CN=nowhere:role.reader' })],
    ['of a group', pki.odd({ subject: 'CN=media:group.all' })],
    ['that names nobody', pki.odd({ subject: 'CN=nobody' })],
  ];
  for (const [name, certificate] of bad) present('bad certificate', `one ${name}`, await certificate);
}

/** A server of this profile, and every kind of credential that it could be shown; `catalog` and `sys.auth` are domains of its. */
export async function presentedCredentials(file: Ending, profile: 'signet' | 'athenz') {
  const options = { profile, 'budgets.enabled': false, 'certificates.dnsSuffix': 'signet.test' };
  const server = await startServer(file, { domains, options });
  const { pki } = server;
  const operator = await pki.identity('sys.auth.operator');
  const studio = await pki.identity('media.studio');
  const player = caller(file, server, await pki.identity('media.player'));
  const scope = 'openid catalog:service.api catalog:role.reader';
  const given = await player('/oauth2/token', form({ grant_type: 'client_credentials', scope }));
  const accessToken = String(field(given.body, 'access_token'));
  const idToken = String(field(given.body, 'id_token'));
  const credentials: Credential[] = [];
  const present: Present = (kind, name, who = {}, headers = {}) =>
    void credentials.push({ name, kind, call: caller(file, server, who), headers });
  present('nothing', 'nothing at all');
  present('nothing', 'headers of a proxy', {}, proxyHeaders(operator.certificate));
  present('nothing', 'an access token', {}, { ...asBearer(accessToken), 'svc-role-auth': accessToken });
  present('nothing', 'an ID token', {}, asBearer(idToken));
  await presentBadCertificates(pki, present);
  present('bad certificate', 'one that was revoked', await revokedCertificate(file, server, operator));
  present('bad token', 'one of another key', operator, asToken(ofOperator(0, ecPair().privateKey)));
  present('bad token', 'one that has expired', operator, asToken(ofOperator(7200)));
  present('bad token', 'an access token as one', operator, asToken(accessToken));
  present('bad token', 'an ID token as one', operator, asToken(idToken));
  present('new token alone', 'beside no certificate', {}, asToken(ofOperator(0)));
  present('token alone', 'an older one beside no certificate', {}, asToken(ofOperator(3000)));
  present('new token', 'beside the certificate of another', studio, asToken(ofOperator(0)));
  present('token', 'an older one beside the certificate of another', studio, asToken(ofOperator(3000)));
  present('role', 'its certificate', await pki.odd({ subject: 'CN=catalog:role.reader' }));
  present('service', 'its certificate', studio);
  present('service', 'its certificate, and the access token of another', studio, asBearer(accessToken));
  present('operator', 'the certificate', operator);
  return { profile, server, credentials };
}
