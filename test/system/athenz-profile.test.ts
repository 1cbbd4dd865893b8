import { createPublicKey, verify } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import type { DomainSketch } from '#support/domain-sketch';
import { field } from '#support/instance-world';
import { send } from '#support/management-world';
import { openssl } from '#support/openssl';
import { principalToken } from '#support/principal-token';
import { ecPair } from '#support/requests';
import { install, serve } from '#support/signet-program';
import { type Answer, form, wholeFile } from '#support/start-server';

/*
 * Servers of each profile: their answers to a host of Athenz's clients, and the use of a principal token by a service that received it, or of a
 * malformed one.
 */

const file = wholeFile();
const pair = ecPair();
const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const domains: readonly DomainSketch[] = [
  { name: 'media', services: { player: { 0: pem }, guest: {} }, roles: { admin: ['media.player'] } },
  {
    name: 'catalog',
    services: { api: {} },
    roles: { reader: ['media.player'], watchers: ['media.guest'] },
    policies: {
      readers: [
        ['ALLOW', 'reader', 'read', 'movie'],
        ['ALLOW', 'watchers', 'read', 'trailer'],
      ],
    },
  },
];

async function start(profile: 'signet' | 'athenz') {
  const installed = await install(file, { domains, more: `profile: ${profile}\n` });
  const serving = await serve(file, installed);
  const own = async (name: string) => {
    const identity = await installed.pki.identity(name);
    return { identity, call: serving.as(identity) };
  };
  return {
    ...installed,
    ...serving,
    nobody: serving.as(),
    player: await own('media.player'),
    guest: await own('media.guest'),
  };
}
const [athenz, signet] = [await start('athenz'), await start('signet')];
test.after.always(() => file.end());

const headers = ['athenz-principal-auth', 'svc-principal-auth'] as const;
const tokenOf = () => principalToken({ now: systemClock.now(), key: pair.privateKey });
const read = '/access/read?resource=catalog:trailer';

for (const [profile, server] of [
  ['athenz', athenz],
  ['signet', signet],
] as const) {
  test(`${profile}: a token that is none is refused beside a good certificate, in either header`, async (t) => {
    t.deepEqual((await server.guest.call(read)).body, { granted: true }, 'the guest may do so itself');
    for (const header of headers) {
      const answer = await server.guest.call(read, { headers: { [header]: 'junk' } });
      t.deepEqual([answer.status, field(answer.body, 'message')], [401, 'principal token is not valid'], header);
      const valid = await server.guest.call(read, { headers: { [header]: tokenOf() } });
      t.deepEqual(valid.body, { granted: false }, 'the player is asked about, who may not');
    }
  });
}

test('athenz: what somebody gets who was handed a principal token, and what not', async (t) => {
  const [request, body] = [tokenOf(), form({ grant_type: 'client_credentials', scope: 'catalog:role.reader' })];
  const withToken = (options: { readonly headers?: object } = {}) => ({
    ...options,
    headers: { ...options.headers, [headers[0]]: request },
  });
  const answers: Readonly<Record<string, Promise<Answer>>> = {
    'access token': athenz.nobody('/oauth2/token', withToken(body)),
    'role token': athenz.nobody('/domain/catalog/token', withToken()),
    services: athenz.nobody('/domain/media/service', withToken()),
    'join token': athenz.guest.call('/instance/sys.auth.server/media/player/i-1/token', withToken()),
    'cloud credentials': athenz.guest.call('/domain/catalog/role/aws/creds', withToken()),
    'SSH certificate': athenz.guest.call('/sshcert', withToken(send('POST', {}))),
    'role certificate': athenz.guest.call('/rolecert', withToken(send('POST', { csr: 'x' }))),
    'deletion of an instance': athenz.guest.call(
      '/instance/sys.auth.server/media/player/i-1',
      withToken({ ...send('DELETE') }),
    ),
    change: athenz.guest.call('^/management/v1/domains/media/roles/x', withToken(send('PUT', {}))),
    'service certificate for another key': athenz.guest.call(
      '/instance/media/player/refresh',
      withToken(send('POST', { csr: 'x' })),
    ),
  };
  const statuses = await Promise.all(
    Object.entries(answers).map(async ([name, answer]) => [name, (await answer).status] as const),
  );
  t.deepEqual(Object.fromEntries(statuses), {
    'access token': 200,
    'role token': 200,
    services: 200,
    'join token': 401,
    'cloud credentials': 401,
    'SSH certificate': 401,
    'role certificate': 401,
    'deletion of an instance': 401,
    change: 401,
    'service certificate for another key': 400,
  });
});

test("athenz.conf holds the keys by which openssl verifies what the server signs for Athenz's clients", async (t) => {
  const at = (name: string) => join(athenz.folder, name);
  writeFileSync(at('player.cert.pem'), athenz.player.identity.certificate, { mode: 0o600 });
  writeFileSync(at('player.key.pem'), athenz.player.identity.key, { mode: 0o600 });
  const connection = ['--cert', at('player.cert.pem'), '--key', at('player.key.pem'), '--ca', at('bundle.pem')];
  const asked = ['keys', 'athenz-conf', ...connection, '--url', `${athenz.baseUrl}/`, '--server-identity', 'host-name'];
  const printed = await athenz.signet(...asked);
  t.is(printed.status, 0, printed.stderr);
  const conf: unknown = JSON.parse(printed.stdout);
  t.deepEqual(Object.keys(conf as object).sort(), ['zmsPublicKeys', 'zmsUrl', 'ztsPublicKeys', 'ztsUrl']);
  t.deepEqual([field(conf, 'ztsUrl'), field(conf, 'zmsUrl')], [athenz.baseUrl, athenz.baseUrl]);
  t.deepEqual(field(conf, 'zmsPublicKeys'), field(conf, 'ztsPublicKeys'));

  const out = at('athenz.conf');
  t.is((await athenz.signet(...asked, '--out', out)).status, 0);
  t.deepEqual(JSON.parse(readFileSync(out, 'utf8')), conf);
  t.is(statSync(out).mode & 0o777, 0o644);
  t.not((await athenz.signet(...asked, '--out', out)).status, 0, 'it is there');
  t.is((await athenz.signet(...asked, '--out', out, '--force')).status, 0);
  t.is((await athenz.signet(...asked, '--force')).status, 2);

  const fromY = (text: string) =>
    Buffer.from(text.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64');
  const listed = field(conf, 'ztsPublicKeys') as readonly { readonly id: string; readonly key: string }[];
  const keyOf = (id: unknown) => fromY(listed.find((key) => key.id === id)?.key ?? '');
  const token = String(field((await athenz.player.call('/domain/catalog/token?role=reader')).body, 'token'));
  const [text = '', signature = ''] = token.split(';s=');
  writeFileSync(at('key.pem'), keyOf(/;k=([^;]+)/.exec(token)?.[1]));
  writeFileSync(at('signature'), fromY(signature));
  writeFileSync(at('text'), text);
  const verified = await openssl(
    athenz.folder,
    'dgst',
    '-sha256',
    '-verify',
    'key.pem',
    '-signature',
    'signature',
    'text',
  );
  t.is(verified.output.trim(), 'Verified OK');

  const policies = (await athenz.player.call('/domain/catalog/signed_policy_data')).body;
  const signed = Buffer.from(JSON.stringify(field(policies, 'signedPolicyData')));
  const key = createPublicKey(keyOf(field(policies, 'keyId')));
  t.true(verify('sha256', signed, key, fromY(String(field(policies, 'signature')))));
});
