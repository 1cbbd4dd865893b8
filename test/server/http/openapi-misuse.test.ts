import { operationsOf } from '@signet/server/http/openapi/document';
import type { Operation } from '@signet/server/http/openapi/operation';
import test from 'ava';
import { servedAt } from '#support/documented';
import { instanceDomains } from '#support/instance-world';
import { type CallOptions, caller, startServer, wholeFile } from '#support/start-server';

/* Every operation of the document, asked for as it should not be: each answer is one that the document lists, and none a fault of the server. */

const profiles = ['signet', 'athenz'] as const;
const system = {
  name: 'sys.auth',
  services: { server: {}, operator: {} },
  roles: { operators: ['sys.auth.operator'] },
  policies: { operators: [['ALLOW', 'operators', '*', '*']] },
} as const;
const domains = [...instanceDomains.filter(({ name }) => name !== 'sys.auth'), system];
const worlds = await Promise.all(
  profiles.map(async (profile) => {
    const file = wholeFile();
    const server = await startServer(file, {
      domains,
      options: { profile, 'budgets.enabled': false, 'certificates.dnsSuffix': 'signet.test' },
    });
    return { profile, file, server };
  }),
);
test.after.always(async () => {
  for (const { file } of worlds) await file.end();
});

/** Values for every parameter of a path. */
const inPath = ['nothing', 'media.player', '%ff', '%00', '*', 'x'.repeat(300), '__proto__'];
const queries = [
  '',
  '?limit=0',
  '?dryRun=maybe',
  '?resource=media:film&principal=..',
  '?%ff',
  '?x[]=1',
  '?rfc=1&format=x',
];
const headers: readonly Record<string, string>[] = [
  {},
  { 'if-none-match': '*' },
  { 'if-match': '"nobody"' },
  { 'if-match': 'x' },
  { accept: 'text/html' },
  { authorization: 'Basic x' },
  { 'svc-principal-auth': 'v=S1;d=media;n=player' },
];
const json = 'application/json';
const bodies: readonly (readonly [type: string, body: string])[] = [
  [json, '{}'],
  [json, '[]'],
  [json, 'null'],
  [json, '{'],
  [json, '{"csr":"x","attestationData":"y","provider":"sys.auth.server","domain":"media","service":"player"}'],
  [json, `{"description":"\u0001"}`],
  ['text/plain', '{}'],
  ['application/x-www-form-urlencoded', 'grant_type=client_credentials&scope=media:domain&scope=x'],
  ['application/x-www-form-urlencoded', 'grant_type=client_credentials&scope=%ff'],
];

/** The requests for an operation: each odd value once, the others as they usually are. */
function requestsFor({ method, path, body }: Operation): readonly (readonly [path: string, options: CallOptions])[] {
  const at = (value: string) => `^${path.replace(/\{\w+\}/g, value)}`;
  const verb = method.toUpperCase();
  const usual: CallOptions = {
    method: verb,
    ...(body !== undefined && { headers: { 'content-type': json }, body: '{}' }),
  };
  const values = path.includes('{') ? inPath : inPath.slice(0, 1);
  return [
    ...values.map((value) => [at(value), usual] as const),
    ...queries.map((query) => [`${at('media')}${query}`, usual] as const),
    ...headers.map((more) => [at('media'), { ...usual, headers: { ...usual.headers, ...more } }] as const),
    ...(body === undefined ? [] : bodies).map(
      ([type, text]) => [at('media'), { method: verb, headers: { 'content-type': type }, body: text }] as const,
    ),
    ...(method === 'get' ? [[at('media'), { method: 'HEAD' }] as const] : []),
    [at('media'), { method: 'PATCH' }],
  ];
}

for (const { profile, server, file } of worlds) {
  for (const who of ['sys.auth.operator', 'nobody'] as const) {
    test(`${profile}: no operation answers ${who} what its document does not list`, async (t) => {
      t.timeout(300_000);
      const call = caller(file, server, who === 'nobody' ? {} : await server.pki.identity(who));
      const seen = new Map<number, number>();
      // The management API is the same in both.
      const operations = operationsOf(servedAt(server.baseUrl)).filter(
        ({ tag }) => profile === 'signet' || tag !== 'management',
      );
      // Each odd value at every other operation; to strangers nearly all answers are the same.
      const share = who === 'nobody' ? 6 : 2;
      for (const [turn, operation] of operations.entries()) {
        const some = requestsFor(operation).filter((_, index) => (index + turn) % share === 0);
        for (const [path, options] of some) {
          // The caller compares the answer with the document.
          const { status, text } = await call(path, options);
          seen.set(status, (seen.get(status) ?? 0) + 1);
          if (status === 500) t.fail(`${options.method} ${path} ${JSON.stringify(options)}: ${text}`);
        }
      }
      t.log(
        [...seen]
          .sort()
          .map(([status, count]) => `${status}: ${count}`)
          .join(', '),
      );
      t.true(who === 'nobody' ? seen.has(401) && seen.has(200) : seen.size > 6);
      const unexpected = server.log.filter(({ msg }) => msg === 'unexpected error');
      t.deepEqual(unexpected, []);
    });
  }
}
