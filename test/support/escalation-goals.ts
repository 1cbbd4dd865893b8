import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { field, json } from './instance-world.ts';
import { send } from './management-world.ts';
import { principalToken } from './principal-token.ts';
import { ecPair, type RequestedName, requestPem } from './requests.ts';
import type { RightsWorld } from './single-rights.ts';
import { type Answer, type Caller, form } from './start-server.ts';

/* Attempts of the holder of one right to read, to become and to change. Each returns the observed effect. */

/** Attempt of a holder, and its place. */
export interface Attempt {
  readonly world: RightsWorld;
  readonly call: Caller;
  readonly principal: string;
  readonly domain: string;
  readonly tag: string;
}

const domains = '^/management/v1/domains';
const keys = ecPair();
const pem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const sshKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

/** Number that no other holder writes. */
const numberOf = (tag: string) => 10_000 + createHash('sha256').update(tag).digest().readUInt16BE();
const items = (answer: Answer): readonly unknown[] => {
  const found = field(answer.body, 'items');
  return answer.status === 200 && Array.isArray(found) ? found : [];
};
const shows = (answer: Answer, text: string) => answer.status === 200 && answer.text.includes(`"${text}"`);
const subjectOf = (certificate: unknown) => {
  return typeof certificate === 'string' ? new X509Certificate(certificate).subject.split('\n')[0] : undefined;
};

/** A change, and what an operator sees of it afterwards. */
async function changes({ world, call, domain }: Attempt, path: string, body: unknown, seenAt = path, text = '') {
  await call(`${domains}/${domain}${path}`, send('PUT', body));
  const seen = await world.operator(`${domains}/${domain}${seenAt}`);
  return seen.status === 200 && seen.text.includes(text);
}

/** A principal token of a service by a key that was registered for it; in the profile `athenz` it is enough alone. */
function tokenOf({ domain, tag }: Attempt, service: string): Record<string, string> {
  const fields = { d: domain, n: service, k: tag };
  const token = principalToken({ now: systemClock.now(), key: keys.privateKey, fields });
  return { 'svc-principal-auth': token, 'athenz-principal-auth': token };
}

/** Registers a key of the holder's own for a service, and asks as that service what only it may know. */
async function becomesByKey(attempt: Attempt, service: string): Promise<boolean> {
  const { call, domain, tag } = attempt;
  await call(`${domains}/${domain}/services/${service}/keys/${tag}`, send('PUT', { pem }));
  const headers = tokenOf(attempt, service);
  if (service === 'plain') {
    const { body } = await call(`/access/read?resource=${domain}:film`, { headers });
    return field(body, 'granted') === true;
  }
  return shows(await call(`${domains}/${domain}/roles/reader/members`, { headers }), 'user.reader');
}

/** The same key in a request for a certificate: with the token alone, or beside the holder's certificate. */
async function becomesByRefresh(attempt: Attempt, service: string): Promise<boolean> {
  const { world, call, domain, tag } = attempt;
  await call(`${domains}/${domain}/services/${service}/keys/${tag}`, send('PUT', { pem }));
  const csr = requestPem(keys, { commonNames: [`${domain}.${service}`] });
  const body = json({ csr, keyId: tag });
  const path = `/instance/${domain}/${service}/refresh`;
  const headers = { ...body.headers, ...tokenOf(attempt, service) };
  const answers = [await call(path, body), await world.stranger(path, { ...body, headers })];
  return answers.some((answer) => subjectOf(field(answer.body, 'certificate')) === `CN=${domain}.${service}`);
}

/** Certificate request of the profile's agents for an instance. */
function instanceRequest({ profile }: RightsWorld, id: string, principal: string): string {
  const own: readonly RequestedName[] = [
    ['uri', `spiffe://signet.test/ns/default/sa/${principal}`],
    ['dns', `${id}.instanceid.signet.test`],
  ];
  const theirs: readonly RequestedName[] = [['uri', `athenz://instanceid/sys.auth.server/${id}`]];
  return requestPem(ecPair(), { commonNames: [principal], altNames: profile === 'signet' ? own : theirs });
}

/** Asks for a join token, and registers an instance with it. */
async function becomesByJoinToken(attempt: Attempt, service: string, call = attempt.call): Promise<boolean> {
  const { world, domain, tag } = attempt;
  const id = `${tag}-${service}`;
  const token = await call(`/instance/sys.auth.server/${domain}/${service}/${id}/token`);
  const csr = instanceRequest(world, id, `${domain}.${service}`);
  const attestationData = field(token.body, 'attestationData') ?? 'none';
  const body = { provider: 'sys.auth.server', domain, service, attestationData, csr };
  const answer = await world.stranger('/instance', json(body));
  return subjectOf(field(answer.body, 'x509Certificate')) === `CN=${domain}.${service}`;
}

async function becomesByCertificate({ call }: Attempt, principal: string): Promise<boolean> {
  const csr = requestPem(ecPair(), { commonNames: [principal] });
  const answer = await call(`/principal/${principal}/certificate`, json({ csr }));
  return subjectOf(field(answer.body, 'certificate')) === `CN=${principal}`;
}

function sshRequest(requestor: string, login: string) {
  return json({
    certRequestMeta: { requestor, certType: 'user' },
    certRequestData: { principals: [login], publicKey: sshKey },
  });
}

/** Deletes an instance that an operator registered. */
async function deletesInstance(attempt: Attempt): Promise<boolean> {
  const { world, call, domain, tag } = attempt;
  const made = await becomesByJoinToken({ ...attempt, tag: `i-${tag}` }, 'plain', world.operator);
  if (!made) throw new Error(`no instance of ${domain} was registered`);
  const id = `i-${tag}-plain`;
  await call(`/instance/sys.auth.server/${domain}/plain/${id}`, { method: 'DELETE' });
  const left = await world.operator(`${domains}/${domain}/instances?service=plain`);
  return !items(left).some((item) => field(item, 'instanceId') === id && field(item, 'state') === 'valid');
}

/** Revokes an SSH certificate that an operator has just got. */
async function revokesSsh({ world, call }: Attempt): Promise<boolean> {
  const made = await world.operator('/sshcert', sshRequest('sys.auth.operator', 'deploy'));
  if (made.status !== 201) throw new Error(made.text);
  const answer = await call('/sshcert/revoke', json({ keyId: 'user:sys.auth.operator' }));
  return Number(field(answer.body, 'revoked')) > 0;
}

export type Goal = (attempt: Attempt) => Promise<boolean>;

/** Goals in a domain, by their names in the table. */
export const goals = {
  'reads roles': async ({ call, domain }) =>
    shows(await call(`${domains}/${domain}/roles/reader/members`), 'user.reader'),
  'reads changes': async ({ call, domain }) => items(await call(`${domains}/${domain}/changes`)).length > 0,
  'asks about others': async ({ call, domain }) =>
    field((await call(`/access/read?resource=${domain}:film&principal=user.reader`)).body, 'granted') === true,
  'adds members': (attempt) =>
    changes(attempt, `/roles/idle/members/user.${attempt.tag}`, {}, '/roles/idle/members', `"user.${attempt.tag}"`),
  'adds administrators': async (attempt) => {
    const { world, domain, tag } = attempt;
    const members = items(await world.operator(`${domains}/${domain}/roles/admin/members`)).map((item) =>
      field(item, 'name'),
    );
    const seen = ['/roles/admin/members', `"user.${tag}"`] as const;
    const isAdded = await changes(attempt, `/roles/admin/members/user.${tag}`, {}, ...seen);
    return isAdded || (await changes(attempt, '/roles/admin', { members: [...members, `user.${tag}`] }, ...seen));
  },
  'makes roles': (attempt) => changes(attempt, `/roles/made-${attempt.tag}`, {}),
  'writes policies': (attempt) =>
    changes(attempt, `/policies/plain-${attempt.tag}`, [{ action: 'read', resource: 'film', role: 'idle' }]),
  'hands out authority': (attempt) =>
    changes(attempt, `/policies/power-${attempt.tag}`, [
      { action: 'manage_members', resource: 'role.*', role: 'idle' },
    ]),
  'makes services': (attempt) => changes(attempt, `/services/made-${attempt.tag}`, {}),
  'changes limits': (attempt) => {
    const roleCertExpirySeconds = numberOf(attempt.tag);
    return changes(attempt, '/limits', { roleCertExpirySeconds }, '/limits', String(roleCertExpirySeconds));
  },
  'changes quotas': (attempt) => {
    const roles = numberOf(attempt.tag);
    return changes(attempt, '/quotas', { roles }, '/quotas', String(roles));
  },
  'is plain by key': (attempt) => becomesByKey(attempt, 'plain'),
  'is chief by key': (attempt) => becomesByKey({ ...attempt, tag: `${attempt.tag}-c` }, 'chief'),
  'is plain by refresh': (attempt) => becomesByRefresh({ ...attempt, tag: `${attempt.tag}-r` }, 'plain'),
  'is chief by refresh': (attempt) => becomesByRefresh({ ...attempt, tag: `${attempt.tag}-d` }, 'chief'),
  'is plain by join token': (attempt) => becomesByJoinToken(attempt, 'plain'),
  'is chief by join token': (attempt) => becomesByJoinToken(attempt, 'chief'),
  'is plain by certificate': (attempt) => becomesByCertificate(attempt, `${attempt.domain}.plain`),
  'is chief by certificate': (attempt) => becomesByCertificate(attempt, `${attempt.domain}.chief`),
  'has a role': async ({ call, domain }) => {
    const scope = `${domain}:role.reader`;
    const answer = await call('/oauth2/token', form({ grant_type: 'client_credentials', scope }));
    return typeof field(answer.body, 'access_token') === 'string';
  },
  'logs in': async ({ call, domain, principal }) => {
    const { body } = await call('/sshcert', sshRequest(principal, `${domain}:root`));
    return Array.isArray(field(body, 'certificates'));
  },
  'is in the cloud': async ({ call, domain }) =>
    typeof field((await call(`/domain/${domain}/role/nightly/creds`)).body, 'sessionToken') === 'string',
  'deletes instances': deletesInstance,
} as const satisfies Readonly<Record<string, Goal>>;

/** Goals once on a server, at `sys.auth`. */
export const systemGoals = {
  'reads the audit log': async ({ call }) => items(await call('^/management/v1/changes')).length > 0,
  'is operator by key': (attempt) => becomesByKey({ ...attempt, tag: `${attempt.tag}-o` }, 'operator'),
  'is operator by refresh': (attempt) => becomesByRefresh({ ...attempt, tag: `${attempt.tag}-p` }, 'operator'),
  'is a person': (attempt) => becomesByCertificate(attempt, 'user.jane'),
  'is an administrator': (attempt) => becomesByCertificate(attempt, 'user.root'),
  'makes domains': async ({ world, call, tag }) => {
    await call(domains, send('POST', { domain: `made-${tag}`, admins: ['user.boss'] }));
    return (await world.operator(`${domains}/made-${tag}`)).status === 200;
  },
  'revokes SSH': revokesSsh,
} as const satisfies Readonly<Record<string, Goal>>;
