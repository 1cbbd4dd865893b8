import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { field, json, keyPem } from '#support/instance-world';
import { principalToken } from '#support/principal-token';
import { ecPair, type RequestedName, requestPem } from '#support/requests';
import { runSignet } from '#support/run-signet';
import { saveDomain } from '#support/save-domain';
import { caller, startServer, type TestServerOptions, wholeFile } from '#support/start-server';

/* Certificates for people and services, by whoever may have them made. */

const deskKey = ecPair();
const deskPem = deskKey.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const domains = [
  {
    name: 'sys.auth',
    services: { operator: {}, server: {}, desk: { k1: deskPem }, backup: {}, personnel: {} },
    roles: {
      admin: ['sys.auth.operator', 'user.root'],
      desk: ['sys.auth.desk'],
      auditors: ['user.auditor'],
      personnel: ['sys.auth.personnel'],
    },
    policies: {
      administration: [['ALLOW', 'admin', '*', '*']],
      desk: [
        ['ALLOW', 'desk', 'issue_certificate', 'principal.user.*'],
        ['ALLOW', 'desk', 'issue_certificate', 'principal.media.player'],
        ['ALLOW', 'desk', 'issue_certificate', 'principal.media.off'],
        ['ALLOW', 'desk', 'issue_certificate', 'principal.sys.auth.server'],
        ['DENY', 'desk', 'issue_certificate', 'principal.user.vip'],
        // May put others into a role of this one, and is no administrator of it.
        ['ALLOW', 'personnel', 'manage_members', 'role.auditors'],
        ['ALLOW', 'personnel', 'issue_certificate', 'principal.user.*'],
      ],
    },
  },
  {
    name: 'media',
    services: { player: {}, off: false, admin: {} },
    roles: { admin: ['media.admin'], reader: ['user.anna', 'user.jane'] },
    // Nothing but the policy of `sys.auth` counts.
    policies: { own: [['ALLOW', 'admin', 'issue_certificate', '*']] },
  },
] as const satisfies TestServerOptions['domains'];

const file = wholeFile();
const world = await startServer(file, { domains, options: { 'snapshot.refreshIntervalMs': 60_000 } });
const as = async (name: string) => caller(file, world, await world.pki.identity(name));
test.after.always(() => file.end());

interface Asked {
  readonly cn?: string;
  readonly altNames?: readonly RequestedName[];
  readonly expiryTime?: number;
  readonly pair?: ReturnType<typeof ecPair>;
}

async function issue(who: string, principal: string, { cn = principal, altNames, expiryTime, pair }: Asked = {}) {
  const csr = requestPem(pair ?? ecPair(), { commonNames: [cn], ...(altNames !== undefined && { altNames }) });
  return (await as(who))(`/principal/${principal}/certificate`, json({ csr, expiryTime }));
}

const leafOf = (body: unknown) => new X509Certificate(String(field(body, 'certificate')));
const lifeOf = (leaf: X509Certificate) =>
  Math.round((leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / 1000) - 3600;

test('an operator has a certificate made for a person, who calls with it; the audit log says who, for whom and over which key', async (t) => {
  const pair = ecPair();
  const operator = await world.pki.identity('sys.auth.operator');
  const csr = requestPem(pair, { commonNames: ['user.anna'] });
  const answer = await caller(file, world, operator)('/principal/user.anna/certificate', json({ csr }));
  t.is(answer.status, 200);
  const leaf = leafOf(answer.body);
  const serial = leaf.serialNumber.toLowerCase();
  t.is(field(answer.body, 'name'), 'user.anna');
  t.is(leaf.subject, 'CN=user.anna');
  t.is(leaf.subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/user.anna');
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  t.is(lifeOf(leaf), 7 * 86_400);
  const row = { kind: 'user', state: 'issued', holder: 'user.anna', subject: 'user.anna' } as const;
  t.like(await world.store.certificates.find(serial), row);
  const [{ at: _at, id: _id, requestId, after = '', ...record } = {} as never] = await world.store.audit({
    subject: 'user.anna',
    limit: 1,
  });
  const certificateSerial = new X509Certificate(operator.certificate).serialNumber.toLowerCase();
  const expected = { actor: 'sys.auth.operator', action: 'issue-certificate', subject: 'user.anna', certificateSerial };
  t.deepEqual(record, expected as never);
  t.truthy(requestId);
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' });
  t.deepEqual(JSON.parse(after), {
    serial,
    kind: 'user',
    notAfter: leaf.validToDate.toISOString(),
    key: createHash('sha256').update(spki).digest('base64url'),
  });
  t.is((await world.store.verifyAudit()).fault, undefined);
  const anna = caller(file, world, { certificate: String(field(answer.body, 'certificate')), key: keyPem(pair) });
  t.is((await anna('/access/domain/media/principal/user.anna')).status, 200);
  // It renews for nobody, and what it gives ends with it.
  t.is((await anna('/instance/user/anna/refresh', json({ csr }))).status, 404);
  const role = await anna('/rolecert', json({ csr: requestPem(pair, { commonNames: ['media:role.reader'] }) }));
  const roleEnd = new X509Certificate(String(field(role.body, 'x509Certificate'))).validToDate.getTime();
  t.true(roleEnd <= leaf.validToDate.getTime());
  const asReader = caller(file, world, { certificate: String(field(role.body, 'x509Certificate')), key: keyPem(pair) });
  t.is((await asReader('/access/domain/media/principal/user.anna')).status, 200);

  const revocation = { reason: 'key-compromise', at: epochSeconds(systemClock), by: 'test' } as const;
  await world.store.change({ actor: 'test' }, (change) => change.revokeCertificate(serial, revocation));
  await world.running.refresh();
  t.is((await anna('/access/domain/media/principal/user.anna')).status, 401);
  t.is((await asReader('/access/domain/media/principal/user.anna')).status, 401);
  const crl = await caller(file, world, operator)('/crl?format=pem');
  t.is(crl.status, 200);
});

test('the life is as asked for, up to what is configured for people, and to the limit for services', async (t) => {
  t.is(lifeOf(leafOf((await issue('sys.auth.operator', 'user.jane', { expiryTime: 86_400 })).body)), 86_400);
  t.is(lifeOf(leafOf((await issue('sys.auth.operator', 'user.jane', { expiryTime: 2 ** 31 - 1 })).body)), 30 * 86_400);
  const service = await issue('sys.auth.operator', 'media.player', { expiryTime: 2 ** 31 - 1 });
  t.is(lifeOf(leafOf(service.body)), 30 * 86_400);
  t.is(leafOf(service.body).subject, 'CN=media.player');
  const serial = leafOf(service.body).serialNumber.toLowerCase();
  t.like(await world.store.certificates.find(serial), { kind: 'service', holder: 'media.player', state: 'issued' });
});

const needs = (who: string, principal: string) =>
  `principal \`${who}\` needs \`issue_certificate\` on \`sys.auth:principal.${principal}\``;
const covered = (who: string, principal: string, role: string) =>
  `\`${principal}\` holds \`sys.auth:role.${role}\`: principal \`${who}\` must hold it as well`;
const decisions: readonly (readonly [who: string, principal: string, refusal?: string])[] = [
  ['sys.auth.operator', 'user.root'],
  ['sys.auth.operator', 'user.auditor'],
  ['sys.auth.operator', 'sys.auth.backup'],
  ['sys.auth.desk', 'user.joe'],
  ['sys.auth.desk', 'media.player'],
  ['user.root', 'user.auditor'],
  ['sys.auth.desk', 'user.vip', needs('sys.auth.desk', 'user.vip')],
  ['sys.auth.desk', 'media.admin', needs('sys.auth.desk', 'media.admin')],
  ['sys.auth.desk', 'user.root', covered('sys.auth.desk', 'user.root', 'admin')],
  ['sys.auth.desk', 'user.auditor', covered('sys.auth.desk', 'user.auditor', 'auditors')],
  ['sys.auth.personnel', 'user.auditor', covered('sys.auth.personnel', 'user.auditor', 'auditors')],
  ['media.admin', 'media.player', needs('media.admin', 'media.player')],
  ['user.jane', 'user.jane', needs('user.jane', 'user.jane')],
  [
    'sys.auth.operator',
    'sys.auth.server',
    'the certificate of `sys.auth.server`, the token server, is given to nobody',
  ],
  ['sys.auth.desk', 'sys.auth.server', 'the certificate of `sys.auth.server`, the token server, is given to nobody'],
  ['sys.auth.desk', 'media.off', '`media.off` is neither a person nor a service that is registered and enabled'],
  [
    'sys.auth.operator',
    'user.jane.laptop',
    '`user.jane.laptop` is neither a person nor a service that is registered and enabled',
  ],
  [
    'sys.auth.operator',
    'media.ghost',
    '`media.ghost` is neither a person nor a service that is registered and enabled',
  ],
];
for (const [who, principal, refusal] of decisions) {
  test(`\`${who}\` ${refusal === undefined ? 'has' : 'does not have'} a certificate made for \`${principal}\``, async (t) => {
    const { status, body } = await issue(who, principal);
    if (refusal === undefined) t.is(status, 200);
    else t.deepEqual([status, body], [403, { code: 403, message: refusal }]);
  });
}

const requests: readonly (readonly [note: string, asked: Asked, message: string])[] = [
  ['of somebody else', { cn: 'user.joe' }, 'csr common name must be `user.jane`'],
  [
    'with a host name',
    { altNames: [['dns', 'jane.example']] },
    'csr dns name `jane.example` is not one that `user.jane` may hold',
  ],
  [
    'with the name of a service of the server',
    { altNames: [['dns', 'jane.user.signet.test']] },
    'csr dns name `jane.user.signet.test` is not one that `user.jane` may hold',
  ],
  [
    'with the address of its caller',
    { altNames: [['ip', Buffer.of(127, 0, 0, 1)]] },
    'csr ip name `127.0.0.1` is not the address that the request comes from',
  ],
  [
    'with the SPIFFE id of somebody else',
    { altNames: [['uri', 'spiffe://signet.test/ns/default/sa/user.joe']] },
    'csr uri name `spiffe://signet.test/ns/default/sa/user.joe` is not `spiffe://signet.test/ns/default/sa/user.jane`',
  ],
];
for (const [note, asked, message] of requests) {
  test(`a request ${note} is refused`, async (t) => {
    const { status, body } = await issue('sys.auth.operator', 'user.jane', asked);
    t.deepEqual([status, body], [400, { code: 400, message }]);
  });
}

test('a request by nobody, by a principal token and by a role certificate is refused', async (t) => {
  const csr = requestPem(ecPair(), { commonNames: ['user.joe'] });
  const path = '/principal/user.joe/certificate';
  t.is((await caller(file, world)(path, json({ csr }))).status, 401);
  const fields = { d: 'sys.auth', n: 'desk', k: 'k1' };
  const token = principalToken({ now: systemClock.now(), key: deskKey.privateKey, fields });
  const { headers, ...call } = json({ csr });
  const withToken = { ...call, headers: { ...headers, 'svc-principal-auth': token } };
  const joined = await (await as('media.player'))(path, withToken);
  t.is(joined.status, 401);
  const group = await (await as('sys.auth.operator'))('/principal/media:group.all/certificate', json({ csr }));
  t.is(group.status, 400);
});

test('a right that is gone where the certificate is recorded gives nothing, and leaves nothing but an intent', async (t) => {
  const own = await startServer(t, { domains, options: { 'snapshot.refreshIntervalMs': 60_000 } });
  const desk = caller(t, own, await own.pki.identity('sys.auth.desk'));
  const csr = requestPem(ecPair(), { commonNames: ['user.late'] });
  const [system] = domains;
  const lost = { ...system, policies: { administration: system.policies.administration } };
  await own.store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent(lost)));
  const answer = await desk('/principal/user.late/certificate', json({ csr }));
  t.deepEqual([answer.status, field(answer.body, 'message')], [403, needs('sys.auth.desk', 'user.late')]);
  t.deepEqual(await own.store.audit({ subject: 'user.late', limit: 1 }), []);
  const intents = await own.store.certificates.orphans(epochSeconds(systemClock) + 60);
  t.deepEqual(
    intents.map(({ subject }) => subject),
    ['user.late'],
  );
});

test('`signet identity issue` writes a folder with which the person calls, and overwrites nothing unasked', async (t) => {
  const at = (name: string) => join(world.folder, name);
  const operator = await world.pki.identity('sys.auth.operator');
  writeFileSync(at('operator.cert.pem'), operator.certificate);
  writeFileSync(at('operator.key.pem'), operator.key);
  const server = ['--url', world.baseUrl, '--ca', at('bundle.pem')];
  const files = ['--cert', at('operator.cert.pem'), '--key', at('operator.key.pem'), '--out', at('jane')];
  const command = ['identity', 'issue', 'user.jane', '--days', '7', ...server, ...files, '--json'];
  const first = await runSignet(...command);
  t.deepEqual([first.status, first.stderr], [0, '']);
  const printed = JSON.parse(first.stdout);
  t.like(printed, { principal: 'user.jane', key: at('jane/key.pem'), config: at('jane/client.yaml') });
  t.is(statSync(at('jane/key.pem')).mode & 0o777, 0o600);
  const before = readFileSync(at('jane/key.pem'), 'utf8');
  const second = await runSignet(...command);
  t.is(second.status, 1);
  t.regex(second.stderr, /cert\.pem` exists: use `--force` to write over it/);
  t.is(readFileSync(at('jane/key.pem'), 'utf8'), before);
  const roles = await runSignet('roles', 'list', '--domain', 'media', '--config', at('jane/client.yaml'));
  t.deepEqual([roles.status, roles.stderr], [0, '']);
  t.regex(roles.stdout, /reader/);

  const longer = await runSignet(...command, '--force', '--days', '31');
  t.is(longer.status, 0);
  const { notAfter } = JSON.parse(longer.stdout);
  t.is(longer.stderr, `signet: warning: it expires at ${notAfter}: the server does not allow a lifetime of 31 days\n`);
  const longest = await runSignet(...command, '--force', '--days', '30');
  t.deepEqual([longest.status, longest.stderr], [0, '']);

  const own = await runSignet('cert', 'request', '--config', at('jane/client.yaml'));
  t.is(own.status, 1);
  t.regex(own.stderr, /^signet: `user\.jane` is a person, .*`signet identity issue`.*`signet login`/);
});
