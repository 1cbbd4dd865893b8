import type { X509Certificate } from 'node:crypto';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { internals } from '../../limits/row.ts';

/* About whom the token server is asked, and what is made of its answer. */

const { isPrincipalName } = await internals<{ isPrincipalName(name: string): boolean }>(
  'client/src/middleware/principal-name.ts',
);
interface Query {
  readonly principal?: string;
  readonly principalToken?: string;
  readonly thumbprint?: string;
  readonly resource: string;
}
const { createGate } = await internals<{
  createGate(
    options: object,
  ): (request: object) => Promise<{ refusal?: { status: number; body: { message: string } } }>;
}>('client/src/middleware/require-grant.ts');

test('the name of a service or a user, in full and in lower case', (t) => {
  const names = [
    'media.player',
    'user.jane',
    'a.b.c',
    'player',
    'media:role.reader',
    'media:group.a',
    'Media.player',
    'media..player',
    'media.pl ayer',
    '.',
    '',
  ];
  t.deepEqual(names.filter(isPrincipalName), ['media.player', 'user.jane', 'a.b.c']);
});

const rule = { action: 'read', resource: 'catalog:movie' };
const socket = { getProtocol: () => 'TLSv1.3', authorized: true };
const request = (headers: string[], certificate?: X509Certificate) => ({
  method: 'GET',
  url: '/',
  rawHeaders: headers,
  socket: { ...socket, getPeerX509Certificate: () => certificate },
});

async function ask(seen: object, more: object = {}, answer: () => boolean | Promise<boolean> = () => true) {
  const asked: Query[] = [];
  const reasons: string[] = [];
  const check = async (query: Query) => {
    asked.push(query);
    return answer();
  };
  const options = {
    access: { check },
    rule,
    domains: ['catalog'],
    clock: { now: () => 1_767_225_600_000 },
    onRefusal: (reason: string) => void reasons.push(reason),
    ...more,
  };
  const { refusal } = await createGate(options)(seen);
  return { asked, reasons, answer: refusal && [refusal.status, refusal.body.message] };
}

const one = 'one principal token is required';
const tokens: [note: string, headers: string[], answer: unknown][] = [
  ['one', ['Svc-Principal-Auth', 'x'], undefined],
  ['one in the header of Athenz', ['Athenz-Principal-Auth', 'x'], undefined],
  ['none', [], [403, one]],
  ['an empty one', ['Svc-Principal-Auth', ''], [403, one]],
  ['two', ['Svc-Principal-Auth', 'x', 'svc-principal-auth', 'x'], [403, one]],
  ['one in each header', ['Svc-Principal-Auth', 'x', 'Athenz-Principal-Auth', 'x'], [403, one]],
];
for (const [note, headers, answer] of tokens) {
  test(`principal tokens: ${note}`, async (t) => {
    const found = await ask(request(headers), { by: 'principal-token' });
    t.deepEqual<unknown, unknown>(found.answer, answer);
    t.deepEqual<unknown, unknown>(found.asked, answer === undefined ? [{ ...rule, principalToken: 'x' }] : []);
  });
}

test('the certificate of a service, with its thumbprint, and no other', async (t) => {
  const by = { by: 'certificate' };
  const { certificate } = await makeCertificate({ name: 'Media.Player' });
  const { asked } = await ask(request([], certificate), by);
  t.is(asked[0]?.principal, 'media.player');
  t.is(asked[0]?.thumbprint?.length, 43);
  const needed = [403, 'a service certificate is required'];
  const none = [403, 'the request came without a client certificate'];
  t.deepEqual((await ask(request(['Svc-Principal-Auth', 'x']), by)).answer, none);
  const old = (await makeCertificate({ name: 'media.player', notAfter: 1_767_225_599_000 })).certificate;
  t.deepEqual((await ask(request([], old), by)).answer, [
    403,
    'the client certificate of the request is not valid here',
  ]);
  for (const name of [
    'catalog:role.reader',
    'player',
    'media.player, CN=media.editor',
    'media.player, CN=media.player',
  ]) {
    const other = (await makeCertificate({ name })).certificate;
    t.deepEqual((await ask(request([], other), by)).answer, needed, name);
  }
});

test('an answer that is not a yes, and none at all, are refusals whose reason only we are told', async (t) => {
  const seen = request(['svc-principal-auth', 'x']);
  const by = { by: 'principal-token' };
  const refused = [403, 'access is not granted'];
  const fails = () => Promise.reject(new Error('gone'));
  for (const [answer, reason] of [
    [() => false, 'not granted'],
    [fails, 'no answer: gone'],
  ] as const) {
    const found = await ask(seen, by, answer);
    t.deepEqual([found.answer, found.reasons], [refused, [reason]]);
  }
  const foreign = await ask(seen, { ...by, rule: () => ({ action: 'read', resource: 'evil:movie' }) });
  t.deepEqual([foreign.answer, foreign.asked.length], [refused, 0]);
  t.regex(foreign.reasons[0] ?? '', /^the rule asks for a resource that is not served: DENY_DOMAIN_MISMATCH/);
  t.deepEqual((await ask(seen, { ...by, rule: () => undefined })).answer, [404, 'unknown endpoint']);
  t.is((await ask(seen, { ...by, onRefusal: undefined }, () => false)).answer?.[0], 403);
  t.throws(() => createGate({ access: {}, by: 'certificate', rule: () => rule }), {
    message: /^`domains` is required/,
  });
});
