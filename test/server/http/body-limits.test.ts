import test from 'ava';
import { type Answer, caller, startServer, wholeFile } from '#support/start-server';

/* Every operation that takes a body, with the longest one that it reads and with one byte more, announced and not (docs/reference/http.md#limits). */

const small = 65_536;
const large = 1_048_576;
/** Below the base path; and all of the management API. All others read small bodies. */
const readLarge = new Set([
  '/instance',
  '/instance/:domain/:service/refresh',
  '/instance/:provider/:domain/:service/:instanceId',
  '/domain/:domainName/role/:roleName/token',
  '/rolecert',
  '/principal/:principal/certificate',
]);

const domains = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: { operators: ['sys.auth.operator'] },
    policies: { operators: [['ALLOW', 'operators', '*', '*']] },
  },
] as const;
const file = wholeFile();
const worlds = await Promise.all(
  (['signet', 'athenz'] as const).map(async (profile) => {
    const options = { profile, 'budgets.enabled': false, 'certificates.dnsSuffix': 'signet.test' };
    const server = await startServer(file, { domains, options });
    return { profile, server, call: caller(file, server, await server.pki.identity('sys.auth.operator')) };
  }),
);
test.after.always(() => file.end());

for (const { profile, server, call } of worlds) {
  const base = new URL(server.baseUrl).pathname;
  const served = server.log.find(({ msg }) => msg === 'operations')?.['served'] as readonly string[];
  const taking = served.filter((entry) => /^(?:POST|PUT) /.test(entry));

  test(`${profile}: a body is read up to its limit`, async (t) => {
    t.timeout(300_000);
    t.true(taking.length > 25);
    for (const operation of taking) {
      const [method = '', pattern = ''] = operation.split(' ');
      const isLarge = pattern.startsWith('/management/') || readLarge.has(pattern.slice(base.length));
      const isForm = /\/oauth2\/(?:token|introspect)$/.test(pattern);
      const path = pattern.replace(/:domain(?:Name)?\b/g, 'sys.auth').replace(/:\w+/g, 'server');
      const send = (length: number, more = {}): Promise<Answer> => {
        const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
        // Neither asks for anything: what was read is 400.
        const body = isForm ? 'x='.padEnd(length, 'x') : '{'.padEnd(length, ' ');
        return call(`^${path}`, { method, headers: { 'content-type': type, ...more }, body });
      };
      const limit = isLarge ? large : small;
      const chunked = { 'transfer-encoding': 'chunked' };
      const read = [(await send(limit)).status, (await send(limit, chunked)).status];
      t.deepEqual(read, [400, 400], `${operation} reads ${limit} bytes`);
      const refused = [(await send(limit + 1)).status, (await send(limit + 1, chunked)).status];
      t.deepEqual(refused, [413, 413], `${operation} reads no more than ${limit} bytes`);
    }
  });
}
