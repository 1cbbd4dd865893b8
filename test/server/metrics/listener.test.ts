import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { type Agent, request as tlsRequest } from 'node:https';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { loadConfig } from '@signet/server/config/config';
import { ConfigError } from '@signet/server/config/config-error';
import { formatOf, isLoopback, startMetricsServer } from '@signet/server/http/metrics-server';
import { createLogger } from '@signet/server/logger';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { createPki } from '#support/pki';
import { missingPrometheus, promtool, promtoolFile } from '#support/promtool';
import { metricNames, seriesIn } from '#support/scrape';
import { type CallerOptions, caller, form, startServer, wholeFile } from '#support/start-server';
import { until } from '#support/until';

const file = wholeFile();
const domains = [{ name: 'media', services: { player: {} }, roles: { reader: ['media.player'] } }];
const server = await startServer(file, { domains, options: { 'metrics.listen.port': 0 } });
const player = await server.pki.identity('media.player');
const { metricsUrl = '' } = server.running;
test.after.always(() => file.end());

const get = async (accept: string, method = 'GET', path = '') => {
  const answer = await fetch(`${metricsUrl}${path}`, { method, headers: { accept } });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

test('two formats, by what the scraper accepts', async (t) => {
  await caller(
    file,
    server,
    player,
  )('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'media:domain' }));
  const text = await get('text/plain');
  t.is(text.status, 200);
  t.is(text.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  t.is(text.headers.get('cache-control'), 'no-store');
  t.regex(text.text, /^# TYPE signet_tokens_issued_total counter$/m);
  t.is(seriesIn(text.text).get('signet_tokens_issued_total{kind="access"}'), 1);
  const open = await get(openMetricsType);
  t.is(open.headers.get('content-type'), openMetricsType);
  t.regex(open.text, /^# TYPE signet_tokens_issued counter$/m);
  t.regex(open.text, /^signet_tokens_issued_total\{kind="access"\} 1$/m);
  t.true(open.text.endsWith('\n# EOF\n'));
  t.notRegex(open.text, /_total_total/);
  const again = await get('text/plain');
  t.regex(
    again.text,
    /^# TYPE signet_tokens_issued_total counter$/m,
    'one scraper does not change the names of another',
  );
});

test('over plain HTTP only names of this machine are answered, as a page in a browser chooses its own', async (t) => {
  const { port } = new URL(metricsUrl);
  const status = async (host: string) => {
    const asked = plainRequest({ host: '127.0.0.1', port, path: '/metrics', setHost: false, headers: { host } });
    asked.end();
    const [answer] = await once(asked, 'response');
    answer.resume();
    return answer.statusCode;
  };
  for (const host of ['localhost', `localhost:${port}`, 'LOCALHOST', '127.0.0.1', '127.8.0.1:1', '[::1]:9']) {
    t.is(await status(host), 200, host);
  }
  for (const host of ['rebound.example', `rebound.example:${port}`, 'localhost.example', '127.0.0.1.example', '']) {
    t.is(await status(host), 421, host);
  }
});

const accepts: readonly (readonly [accept: string | undefined, format: 'text' | 'openmetrics'])[] = [
  [undefined, 'text'],
  ['', 'text'],
  ['*/*', 'text'],
  ['text/plain;version=0.0.4', 'text'],
  ['application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text;q=0', 'text'],
  ['text/plain;q=0.9, application/openmetrics-text;q=0.3', 'text'],
  [
    'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;q=0.3,*/*;q=0.2',
    'openmetrics',
  ],
  ['application/json', 'text'],
];
for (const [accept, format] of accepts) {
  test(`the format for ${accept ?? 'no header'}`, (t) => t.is(formatOf(accept), format));
}

test('nothing but GET and HEAD of /metrics', async (t) => {
  const head = await get('*/*', 'HEAD');
  t.deepEqual([head.status, head.text], [200, '']);
  const post = await fetch(metricsUrl, { method: 'POST', body: 'x' });
  t.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
  t.is((await get('*/*', 'GET', '/x')).status, 404);
  t.is((await get('*/*', 'GET', '?a=1')).status, 200);
  const withBody = await new Promise((resolve) => {
    const sent = plainRequest(metricsUrl, { headers: { 'content-length': '5' } }, (answer) =>
      resolve(answer.statusCode),
    );
    sent.end('12345');
  });
  t.is(withBody, 413);
});

test('no label holds what a caller sent', async (t) => {
  await caller(
    file,
    server,
    player,
  )('/domain/secret-name/policy/signed?secret-query=1', { headers: { 'x-secret': 'secret-header' } });
  await caller(file, server, player)('/secret-path');
  const { text } = await get('text/plain');
  t.notRegex(text, /secret-|media\.player/);
  const labels = new Set([...text.matchAll(/[{,]([a-zA-Z_]+)="/g)].map(([, name = '']) => name));
  const ofLibrary = ['type', 'version', 'major', 'minor', 'patch', 'kind', 'space', 'le'];
  const ours = [
    'by',
    'state',
    'route',
    'method',
    'code',
    'error',
    'reason',
    'outcome',
    'operation',
    'purpose',
    'which',
  ];
  t.deepEqual(
    [...labels].filter((name) => ![...ofLibrary, ...ours].includes(name)),
    [],
  );
});

test('the gauges say what the server is', async (t) => {
  const series = seriesIn((await get('text/plain')).text);
  t.is(series.get('signet_store_up'), 1);
  t.is(series.get('signet_store_writable'), 1);
  t.is(series.get('signet_store_diverged'), 0);
  t.is(series.get('signet_snapshot_domains'), 1);
  t.is(series.get('signet_snapshot_position'), server.store && (await server.store.state()).counter);
  t.true((series.get('signet_snapshot_age_seconds') ?? -1) >= 0);
  for (const purpose of ['token', 'bundle']) {
    t.true((series.get(`signet_key_active_age_seconds{purpose="${purpose}"}`) ?? -1) >= 0, purpose);
  }
  const expiry = (which: string) => series.get(`signet_certificate_expiry_timestamp_seconds{which="${which}"}`) ?? 0;
  t.true(expiry('server') > 1_700_000_000 && expiry('issuer') >= expiry('server'));
});

test('promtool finds nothing to say about the text', async (t) => {
  if (promtoolFile === undefined) return t.log(missingPrometheus) ?? t.pass();
  const { text } = await get('text/plain');
  t.deepEqual(promtool(['check', 'metrics'], text), { status: 0, output: '' });
  t.true(metricNames(text).length > 40);
});

test('the reference has every metric of the server, with its type and its labels, and no other', async (t) => {
  const { text } = await get('text/plain');
  const types = [...text.matchAll(/^# TYPE (signet_\S+) (\S+)$/gm)].map(
    ([, name = '', type = '']) => `${name} ${type}`,
  );
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const [, ofServer = ''] = /\n## Of the server\n([\s\S]*?)\n## /.exec(page) ?? [];
  const rows = [...ofServer.matchAll(/^\| `(signet_\w+)` +\| (\w+)/gm)].map(
    ([, name = '', type = '']) => `${name} ${type}`,
  );
  t.deepEqual(rows.toSorted(), [...types, 'signet_workers gauge'].toSorted());
});

test('a socket for the group, in place of a port; one that was left behind is replaced', async (t) => {
  const socket = join(server.folder, 'metrics.sock');
  const first = await startServer(t, { domains, options: { 'metrics.listen.socket': socket } });
  t.is(first.running.metricsUrl, socket);
  const deps = {
    config: loadConfig(join(server.folder, 'signet.yaml')),
    logger: createLogger('silent'),
    read: () => t.fail() as never,
  };
  const another = () => startMetricsServer(deps, { kind: 'socket', path: socket });
  t.is(statSync(socket).mode & 0o777, 0o660);
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      plainRequest({ socketPath: socket, path: '/metrics' }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
  t.is(await ask(), 200);
  await t.throwsAsync(another(), { code: 'EADDRINUSE' });
  await first.running.close();
  t.false(existsSync(socket));
  writeFileSync(socket, 'a file of somebody else');
  await t.throwsAsync(another(), { code: 'EADDRINUSE' });
  t.is(readFileSync(socket, 'utf8'), 'a file of somebody else');
  const stale = join(server.folder, 'stale.sock');
  const killed = `require('net').createServer().listen(${JSON.stringify(stale)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', killed]);
  t.true(lstatSync(stale).isSocket());
  const replaced = await startMetricsServer(deps, { kind: 'socket', path: stale });
  await replaced.close();
});

test('elsewhere than on the loopback interface: TLS for those who have a certificate', async (t) => {
  const open = await startServer(t, {
    domains,
    pki: server.pki,
    options: { 'metrics.listen.host': '0.0.0.0', 'metrics.listen.port': 0 },
  });
  const { metricsUrl: url = '' } = open.running;
  t.regex(url, /^https:\/\/0\.0\.0\.0:\d+\/metrics$/);
  const { port } = new URL(url);
  const ask = (who: { cert?: string; key?: string }) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        path: '/metrics',
        servername: 'localhost',
        ca: open.pki.bundle,
        agent: false,
        ...who,
      };
      tlsRequest(options, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
  t.is(await ask({}), 401);
  t.is(await ask({ cert: player.certificate, key: player.key }), 200);
  await t.throwsAsync(fetch(`http://127.0.0.1:${port}/metrics`), undefined, 'no plain HTTP');
});

test('over TLS a kept connection ends with its certificate, and with the authority of it', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const { folder, pki } = await startServer(t, { domains });
  const deps = {
    config: loadConfig(join(folder, 'signet.yaml')),
    logger: createLogger('silent'),
    read: async () => ({ contentType: 'text/plain', text: '' }),
    clock,
  };
  const metrics = await startMetricsServer(deps, { kind: 'port', host: '0.0.0.0', port: 0 });
  t.teardown(() => metrics.close());
  const { port } = new URL(metrics.url);
  const as = (who: CallerOptions) => {
    const { agent } = caller(t, { baseUrl: `https://127.0.0.1:${port}/`, pki }, who);
    return () => statusOver(agent, port);
  };
  const short = await pki.identity('media.player', 1);
  const [own, other] = [as(short), as(await pki.identity('media.player'))];
  t.deepEqual([await own(), await other()], [200, 200]);
  clock.set(new X509Certificate(short.certificate).validToDate.getTime() + 1);
  t.deepEqual([await own(), await other()], [401, 200]);
  const file = join(folder, 'bundle.pem');
  // A key without its certificate keeps nothing from being taken out.
  writeFileSync(join(folder, 'server.key.pem'), short.key);
  writeFileSync(`${file}.new`, (await createPki()).bundle);
  renameSync(`${file}.new`, file);
  t.true(await until('the authority is withdrawn', async () => (await other()) === 401));
});

/** The status of one more request over the connection of an agent. */
function statusOver(agent: Agent, port: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/metrics', agent };
    tlsRequest(options, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

test('names and addresses of the loopback interface', (t) => {
  const loopback = ['localhost', '127.0.0.1', '127.9.8.7', '::1'];
  const other = ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '128.0.0.1', ''];
  t.deepEqual(
    loopback.filter((host) => !isLoopback(host)),
    [],
  );
  t.deepEqual(other.filter(isLoopback), []);
});

test('without a port and a socket nothing is counted; both are a contradiction', async (t) => {
  const quiet = await startServer(t, { domains });
  t.is(quiet.running.metricsUrl, undefined);
  const both = { 'metrics.listen.port': 1, 'metrics.listen.socket': 'x' };
  const error = t.throws(() => loadConfig(join(server.folder, 'signet.yaml'), {}, both), { instanceOf: ConfigError });
  t.regex(error.message, /metrics\.listen must have either port or socket/);
});
