import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { isCrlOf, readCrl } from '@signet/server/x509/crl-reader';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { instanceWorld, register } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { createPki } from '#support/pki';

/* Revocation lists as caches and standard readers want them; over TLS, and over plain HTTP. */

async function world(t: ExecutionContext, options: Readonly<Record<string, unknown>> = {}) {
  const clock = new FakeClock(systemClock.now());
  const pki = await createPki(clock);
  const lists = { 'crl.roots': ['root.crl.pem'], 'crl.listen.port': 0, ...options };
  const server = await instanceWorld(t, { clock, pki, options: lists });
  const { crlUrl = '' } = server.running;
  const issuer = issuerFromPem(pki.issuer.certificate, pki.issuer.key);
  const plain = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(`${crlUrl}${path}`, { headers, method });
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const reader = await server.identity('media.studio');
  return { ...server, clock, issuer, plain, reader };
}

test('DER by default, PEM for those who ask for it', async (t) => {
  const { plain, issuer, reader } = await world(t);
  const der = await plain('');
  t.is(der.headers.get('content-type'), 'application/pkix-crl');
  t.true(isCrlOf(readCrl(der.bytes), issuer));
  const asPem = '-----BEGIN X509 CRL-----\n';
  const forms: readonly (readonly [path: string, accept: string, type: 'der' | 'pem'])[] = [
    ['', '*/*', 'der'],
    ['', 'application/pkix-crl', 'der'],
    ['', 'application/json', 'der'],
    ['', 'application/x-pem-file', 'pem'],
    ['', 'application/pkix-crl;q=0.1, application/x-pem-file', 'pem'],
    ['?format=pem', '*/*', 'pem'],
    ['?format=pem', 'application/pkix-crl', 'pem'],
    ['?format=der', 'application/x-pem-file', 'der'],
    [`/${issuer.id}`, '*/*', 'der'],
    [`/${issuer.id}?format=pem`, '*/*', 'pem'],
  ];
  for (const [path, accept, type] of forms) {
    for (const answer of [await plain(path, { accept }), await reader(`/crl${path}`, { headers: { accept } })]) {
      const text = 'bytes' in answer ? answer.bytes.toString('latin1') : answer.text;
      const { headers } = answer;
      const named = headers instanceof Headers ? headers.get('content-type') : headers['content-type'];
      t.is(answer.status, 200);
      t.is(named, type === 'pem' ? 'application/x-pem-file' : 'application/pkix-crl', `${path} ${accept}`);
      t.is(text.startsWith(asPem), type === 'pem', `${path} ${accept}`);
    }
  }
  t.is((await plain('?format=text')).status, 400);
  t.is((await plain('/00')).status, 404);
});

test('each form has an entity tag of its own, and lives no longer than the list', async (t) => {
  const { plain, clock } = await world(t, { 'certificates.crlLifetimeSeconds': 600, 'crl.maxAgeSeconds': 400 });
  const [der, pem] = [await plain(''), await plain('?format=pem')];
  const tagOf = ({ headers }: typeof der) => headers.get('etag') ?? '';
  t.not(tagOf(der), tagOf(pem));
  t.is(der.headers.get('vary'), 'Accept');
  const again = await plain('', { 'if-none-match': tagOf(der) });
  t.deepEqual([again.status, again.bytes.length, tagOf(again)], [304, 0, tagOf(der)]);
  t.is((await plain('', { 'if-none-match': tagOf(pem) })).status, 200);
  const head = await plain('', {}, 'HEAD');
  t.deepEqual([head.status, tagOf(head), head.bytes.length], [200, tagOf(der), 0]);
  t.is(der.headers.get('cache-control'), 'max-age=400');
  clock.advance(250_000);
  t.is((await plain('')).headers.get('cache-control'), 'max-age=350', 'so long the list is good');
  clock.advance(100_000);
  t.not(tagOf(await plain('', { 'if-none-match': tagOf(der) })), tagOf(der), 'another list');
});

test('a revocation is another list with another tag', async (t) => {
  const server = await world(t);
  const { plain } = server;
  await register(server, 'r-1');
  const tag = (await plain('')).headers.get('etag') ?? '';
  await (await server.identity('media.admin'))('/instance/sys.auth.server/media/player/r-1', { method: 'DELETE' });
  t.is((await plain('', { 'if-none-match': tag })).status, 200);
});

test('the lists of the roots have their ids, and those of all are one file for checks of whole chains', async (t) => {
  const server = await world(t);
  const { plain, folder, pki, reader } = server;
  const { certificate } = await register(server, 'c-1');
  writeFileSync(join(folder, 'c1.pem'), certificate);
  const chain = await plain('/chain');
  t.is(chain.headers.get('content-type'), 'application/x-pem-file');
  t.is((await plain('/chain', { 'if-none-match': chain.headers.get('etag') ?? '' })).status, 304);
  writeFileSync(join(folder, 'chain.pem'), chain.bytes);
  writeFileSync(join(folder, 'issuers.pem'), (await plain('?format=pem')).bytes);
  const verify = async (lists: string) => {
    const files = ['-CRLfile', lists, '-CAfile', 'bundle.pem', '-untrusted', 'c1.pem', 'c1.pem'];
    return (await openssl(folder, 'verify', '-x509_strict', '-crl_check_all', ...files)).output;
  };
  t.is(await verify('chain.pem'), 'c1.pem: OK\n');
  t.regex(await verify('issuers.pem'), /unable to get certificate CRL/, 'without that of the root');
  const said = await openssl(folder, 'x509', '-in', 'bundle.pem', '-noout', '-ext', 'subjectKeyIdentifier');
  const id = /(?:[0-9A-F]{2}:)+[0-9A-F]{2}/.exec(said.output)?.[0].replaceAll(':', '').toLowerCase() ?? '';
  const root = await plain(`/${id}?format=pem`);
  t.is(root.bytes.toString(), pki.rootList);
  t.is((await reader(`/crl/${id}?format=pem`)).text, pki.rootList);
});

test('the plain listener has nothing but the lists and the certificates of the authorities', async (t) => {
  const { running, baseUrl, pki, as } = await world(t);
  const at = new URL('.', running.crlUrl ?? '');
  const answerOf = async (path: string, method = 'GET') => (await fetch(new URL(path, at), { method })).status;
  t.deepEqual(await (await fetch(new URL('cacerts/roots', at))).json(), { name: 'roots', certs: pki.bundle });
  const { headers: kept } = await fetch(new URL('cacerts/chain', at));
  t.is(kept.get('cache-control'), 'max-age=60');
  const again = await fetch(new URL('cacerts/chain', at), { headers: { 'if-none-match': kept.get('etag') ?? '' } });
  t.is(again.status, 304);
  t.is(await answerOf('cacerts/other'), 404);
  const paths = ['oauth2/keys', 'sshcert/krl', 'healthz', 'domain/media/policy/signed', '/management/v1/domains'];
  for (const path of paths) t.is(await answerOf(path), 404, path);
  for (const method of ['POST', 'PUT', 'DELETE']) t.is(await answerOf('crl', method), 405, method);
  const { headers } = await fetch(running.crlUrl ?? '');
  t.is(headers.get('strict-transport-security'), null, 'RFC 6797 §7.2');
  t.is((await as()('/crl')).status, 401, 'over TLS callers say who they are');
  t.truthy((await as()('/healthz')).headers['strict-transport-security']);
  t.not(new URL(baseUrl).port, at.port);
});

/** Statuses of the answers to `count` requests that come in one piece, until the connection is closed. */
function statusesOf(crlUrl: string, count: number): Promise<readonly number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
  const { hostname, port, host, pathname } = new URL(crlUrl);
  const request = (more: string) => `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
  const socket = connect(Number(port), hostname, () => {
    socket.write(request('').repeat(count - 1) + request('Connection: close\r\n'));
  });
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))));
  return promise;
}

test('the plain listener begins four requests of a connection at a time, and no more', async (t) => {
  const { running } = await world(t);
  const { crlUrl = '' } = running;
  t.deepEqual(await statusesOf(crlUrl, 4), [200, 200, 200, 200]);
  t.deepEqual(await statusesOf(crlUrl, 5), [200, 200, 200, 200, 429]);
});

test('certificates say where the list is', async (t) => {
  const address = 'http://pki.example/v1/crl/{issuer}';
  const server = await world(t, { 'crl.distributionPoints': [address, 'https://two.example/{issuer}.crl'] });
  const { certificate } = await register(server, 'd-1');
  writeFileSync(join(server.folder, 'd1.pem'), certificate);
  const said = await openssl(server.folder, 'x509', '-in', 'd1.pem', '-noout', '-ext', 'crlDistributionPoints');
  t.deepEqual(said.output.match(/URI:\S+/g), [
    `URI:http://pki.example/v1/crl/${server.issuer.id}`,
    `URI:https://two.example/${server.issuer.id}.crl`,
  ]);
});
