import test from 'ava';
import { field, instanceWorld, json, keyPem } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { type CallOptions, wholeFile } from '#support/start-server';

/* Every operation on certificates against every body that is not what it wants: a documented refusal, at once, and nothing else. */

const file = wholeFile();
const world = await instanceWorld(file);
const player = await world.identity('media.player');
test.after.always(() => file.end());

const operations = [
  '/instance',
  '/instance/sys.auth.server/media/player/h-1',
  '/instance/media/player/refresh',
  '/domain/catalog/role/reader/token',
  '/rolecert',
  '/sshcert',
  '/sshcert/revoke',
] as const;

const typed = (body: string | Uint8Array, type = 'application/json'): CallOptions => ({
  method: 'POST',
  headers: { 'content-type': type },
  body,
});
const everyField = ['csr', 'provider', 'domain', 'service', 'attestationData', 'keyId', 'certRequestData', 'serial'];
const all = (value: unknown) => json(Object.fromEntries(everyField.map((name) => [name, value])));

const bodies: readonly (readonly [name: string, options: CallOptions, status: number])[] = [
  ['nothing', typed(''), 400],
  ['null', typed('null'), 400],
  ['a list', typed('[]'), 400],
  ['a text', typed('"csr"'), 400],
  ['no members', typed('{}'), 400],
  ['half an object', typed('{"csr":'), 400],
  ['two objects', typed('{}{}'), 400],
  ['a member twice', typed('{"csr":"a","csr":"b"}'), 400],
  ['a member of objects', typed('{"__proto__":{"csr":"a"},"constructor":1}'), 400],
  ['a thousand levels', typed(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`), 400],
  ['no UTF-8', typed(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), 400],
  ['nulls', all(null), 400],
  ['numbers', all(1), 400],
  ['lists', all(['a']), 400],
  ['objects', all({ a: 1 }), 400],
  ['empty texts', all(''), 400],
  ['long texts', all('x'.repeat(7000)), 400],
  ['odd characters', all('a\u0000\r\n\u202e"\\\ud83d\ude00'), 400],
  ['plain text', typed('{}', 'text/plain'), 415],
  ['a form', typed('csr=a', 'application/x-www-form-urlencoded'), 415],
  ['another charset', typed('{}', 'application/json; charset=utf-16'), 415],
];

for (const path of operations) {
  test(`POST ${path} refuses what is not its body`, async (t) => {
    for (const [name, options, status] of bodies) {
      const answer = await player(path, options);
      t.deepEqual([answer.status, field(answer.body, 'code')], [status, status], `${name}: ${answer.text}`);
      t.regex(String(field(answer.body, 'message')), /^[^\n]{1,300}$/, name);
      t.deepEqual(Object.keys(Object(answer.body)), ['code', 'message'], name);
    }
    const other = await player(path, { method: 'PATCH' });
    t.deepEqual([other.status, typeof other.headers['allow']], [405, 'string']);
  });
}

test('a role certificate is not an identity for any of them', async (t) => {
  const pair = ecPair();
  const csr = requestPem(pair, { commonNames: ['catalog:role.reader'] });
  const issued = await player('/domain/catalog/role/reader/token', json({ csr }));
  t.is(issued.status, 200, issued.text);
  const role = world.as({ certificate: String(field(issued.body, 'token')), key: keyPem(pair) });
  const requests = [
    ...operations.map((path) => [path, json({ csr })] as const),
    ['/instance/sys.auth.server/media/player/h-1', { method: 'DELETE' }],
    ['/instance/sys.auth.server/media/player/h-1/token', {}],
    ['^/management/v1/domains/media/instances', {}],
  ] as const;
  for (const [path, options] of requests) {
    const message = 'a role certificate is not a service identity';
    t.deepEqual((await role(path, options)).body, { code: 403, message }, path);
  }
});
