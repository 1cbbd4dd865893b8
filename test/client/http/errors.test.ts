import { parseHttpDate, SignetClientError } from '@signet/client';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Meaning of each failure for the caller: of the transport, of an answer, and whether a retry is worth it. */

const { isBrokenConnection, transportError } = await internals<{
  isBrokenConnection(error: unknown): boolean;
  transportError(error: unknown, host: string): SignetClientError;
}>('client/src/http/transport-error.ts');
const { answerError } = await internals<{
  answerError(status: number, headers: object, body: Uint8Array, now: number): SignetClientError;
}>('client/src/http/answer-error.ts');
const { backOff, isPassing, isServersOwn } = await internals<{
  backOff(attempt: number, error: SignetClientError, random: () => number): number | undefined;
  isPassing(error: SignetClientError): boolean;
  isServersOwn(error: SignetClientError): boolean;
}>('client/src/http/back-off.ts');

const coded = (code: unknown, cause?: unknown) => Object.assign(new Error('low', { cause }), { code });
const chain = (depth: number, last: Error): Error =>
  depth === 0 ? last : new Error('outer', { cause: chain(depth - 1, last) });

const failures: [note: string, error: unknown, code: string, message: string, isBroken: boolean][] = [
  ['one of ours', new SignetClientError('aborted', 'own'), 'aborted', 'own', false],
  [
    'a pool that was destroyed',
    coded('UND_ERR_DESTROYED'),
    'closed',
    'the client was closed during the request',
    false,
  ],
  ['a pool that was closed', coded('UND_ERR_CLOSED'), 'closed', 'the client was closed during the request', false],
  [
    'headers that are late',
    coded('UND_ERR_HEADERS_TIMEOUT'),
    'timed-out',
    'no complete response from `h` in time',
    false,
  ],
  ['a body that is late', coded('UND_ERR_BODY_TIMEOUT'), 'timed-out', 'no complete response from `h` in time', false],
  ['another server', Object.assign(new Error('of x'), { code: 'ERR_TLS_SERVER_IDENTITY' }), 'tls', 'of x', false],
  [
    'an unknown authority',
    coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    'tls',
    'no trusted connection to `h` (UNABLE_TO_VERIFY_LEAF_SIGNATURE): its certificate was not issued by a CA certificate of the client: use the CA certificates of this server',
    false,
  ],
  [
    'a client certificate that the server refuses',
    coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'),
    'tls',
    'no trusted connection to `h` (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA): it refused the client certificate: it must be one that this server or its authority issued',
    false,
  ],
  [
    'an alert about something else',
    coded('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'),
    'tls',
    'no trusted connection to `h` (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)',
    false,
  ],
  [
    'a certificate that has ended',
    coded('UND_ERR_SOCKET', coded('CERT_HAS_EXPIRED')),
    'tls',
    'no trusted connection to `h` (CERT_HAS_EXPIRED): its certificate has expired',
    false,
  ],
  ['a connection that broke', coded('ECONNRESET'), 'unreachable', '`h` cannot be reached (ECONNRESET)', true],
  ['a pipe that broke', coded('EPIPE'), 'unreachable', '`h` cannot be reached (EPIPE)', true],
  [
    'a socket that ended',
    new TypeError('x', { cause: coded('UND_ERR_SOCKET') }),
    'unreachable',
    '`h` cannot be reached (UND_ERR_SOCKET)',
    true,
  ],
  [
    'a refused connection',
    new AggregateError([coded('ECONNREFUSED')]),
    'unreachable',
    '`h` cannot be reached (ECONNREFUSED): nothing listens on this port',
    false,
  ],
  ['a code that is a number', coded(7), 'unreachable', '`h` cannot be reached (no code)', false],
  ['what is not an error', 'broken', 'unreachable', '`h` cannot be reached (no code)', false],
  ['the fifth cause', chain(4, coded('EPIPE')), 'unreachable', '`h` cannot be reached (EPIPE)', true],
  ['the sixth cause', chain(5, coded('EPIPE')), 'unreachable', '`h` cannot be reached (no code)', false],
];
for (const [note, error, code, message, isBroken] of failures) {
  test(`a failure of the transport: ${note}`, (t) => {
    const { code: found, message: text, cause } = transportError(error, 'h');
    t.deepEqual([found, text], [code, message] as never);
    if (!(error instanceof SignetClientError)) t.is(cause, error);
    t.is(isBrokenConnection(error), isBroken);
  });
}

/** The first moment of 2026. */
const now = 1_767_225_600_000;
const answers: [note: string, status: number, headers: object, body: unknown, expected: Partial<SignetClientError>][] =
  [
    ['300', 300, {}, '', { code: 'redirected', status: 300 }],
    ['399', 399, {}, '', { code: 'redirected', status: 399 }],
    ['299', 299, {}, '', { code: 'refused', status: 299 }],
    ['400', 400, {}, '', { code: 'refused', status: 400, message: 'the server answered 400' }],
    ['429', 429, {}, '', { code: 'server-error', status: 429 }],
    ['499', 499, {}, '', { code: 'refused', status: 499 }],
    ['500', 500, {}, '', { code: 'server-error', status: 500 }],
    [
      'a message',
      403,
      {},
      { code: 403, message: 'no' },
      { serverCode: 403, serverMessage: 'no', message: 'the server answered 403: no' },
    ],
    [
      'a message that is a number',
      403,
      {},
      { message: 7 },
      { serverMessage: undefined, message: 'the server answered 403' },
    ],
    ['an empty message', 403, {}, { message: '' }, { serverMessage: undefined, message: 'the server answered 403' }],
    ['a message with line ends', 403, {}, { message: 'a\r\nb' }, { serverMessage: 'a b' }],
    ['a long message', 403, {}, { message: 'x'.repeat(501) }, { serverMessage: 'x'.repeat(500) }],
    ['a code that is a string', 403, {}, { code: '403' }, { serverCode: undefined }],
    ['an error', 400, {}, { error: 'invalid_scope' }, { serverError: 'invalid_scope' }],
    ['null', 400, {}, null, { serverCode: undefined }],
    ['a string', 400, {}, 'code', { serverCode: undefined }],
    ['no header', 503, {}, '', { retryAfterSeconds: undefined }],
    ['seconds', 503, { 'retry-after': '7' }, '', { retryAfterSeconds: 7 }],
    ['more than a day', 503, { 'retry-after': '999999999' }, '', { retryAfterSeconds: 86_400 }],
    ['a date', 503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, '', { retryAfterSeconds: 5 }],
    ['a date that is past', 503, { 'retry-after': 'Thu, 01 Jan 2025 00:00:00 GMT' }, '', { retryAfterSeconds: 0 }],
    ['a date in years', 503, { 'retry-after': 'Thu, 01 Jan 2030 00:00:00 GMT' }, '', { retryAfterSeconds: 86_400 }],
    ['what is not a time', 503, { 'retry-after': 'soon' }, '', { retryAfterSeconds: undefined }],
  ];
for (const [note, status, headers, body, expected] of answers) {
  test(`an answer that is not a success: ${note}`, (t) => {
    const bytes = Buffer.from(body === '' ? '<html>' : JSON.stringify(body));
    const error = answerError(status, headers, bytes, now);
    for (const [name, value] of Object.entries(expected)) t.is(Reflect.get(error, name), value, name);
  });
}

test('an HTTP date', (t) => {
  t.is(parseHttpDate('Thu, 01 Jan 2026 00:00:00 GMT'), now);
  t.is(parseHttpDate('Thu, 31 Dec 2026 00:00:00 GMT'), now + 364 * 86_400_000);
  for (const text of ['', 'Thu, 01 Foo 2026 00:00:00 GMT', 'Thu, 32 Jan 2026 00:00:00 GMT', '2026-01-01T00:00:00Z']) {
    t.is(parseHttpDate(text), undefined, text);
  }
});

const worth: [error: SignetClientError, isPassing: boolean, isServersOwn: boolean][] = [
  [new SignetClientError('unreachable', ''), true, true],
  [new SignetClientError('timed-out', ''), false, true],
  [new SignetClientError('tls', ''), false, true],
  [new SignetClientError('refused', '', { answer: { status: 499 } }), false, false],
  [new SignetClientError('server-error', '', { answer: { status: 429 } }), false, false],
  [new SignetClientError('server-error', '', { answer: { status: 500 } }), true, true],
  [new SignetClientError('aborted', ''), false, false],
];
test('which failures pass, and which are those of one server', (t) => {
  for (const [error, passes, own] of worth) {
    t.deepEqual([isPassing(error), isServersOwn(error)], [passes, own], `${error.code} ${error.status}`);
  }
});

test('how long to wait before the next try', (t) => {
  const plain = new SignetClientError('unreachable', '');
  const waits = [0, 1, 5, 6, 60].map((attempt) => backOff(attempt, plain, () => 1));
  t.deepEqual(waits, [100, 200, 3200, 5000, 5000]);
  t.is(
    backOff(0, plain, () => 0),
    50,
  );
  const asked = (retryAfterSeconds: number) =>
    backOff(0, new SignetClientError('server-error', '', { answer: { status: 503, retryAfterSeconds } }), () => 0.5);
  t.deepEqual([asked(0), asked(30), asked(31)], [50, 30_050, undefined]);
});
