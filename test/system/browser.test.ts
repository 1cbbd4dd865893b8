import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/*
 * Code without Node, in a browser: the core entry as it is shipped, and the part of the server that a playground needs. Nothing is bundled, the
 * pages import the built modules.
 */

const top = fileURLToPath(new URL('../..', import.meta.url));
const browser = '/usr/bin/chromium';
const roots: readonly (readonly [prefix: string, folder: string])[] = [
  ['/engine/', join(top, 'policy-engine/dist')],
  ['/jose/', join(top, 'node_modules/jose/dist/webapi')],
  ['/server/', join(top, 'server/dist')],
  ['/zod/', join(top, 'node_modules/zod')],
  ['/yaml/', join(top, 'node_modules/yaml/browser')],
];

const corePage = `<!doctype html><title>core</title>
<script type="importmap">{ "imports": { "jose/key/import": "/jose/key/import.js", "jose/jws/compact/verify": "/jose/jws/compact/verify.js", "core": "/engine/core.js" } }</script>
<script type="module">
const say = (value) => fetch('/result', { method: 'POST', body: JSON.stringify(value) });
addEventListener('error', ({ message }) => say({ error: message }));
addEventListener('unhandledrejection', ({ reason }) => say({ error: String(reason) }));
const { compileDomain, decideInDomain, explainInDomain, staticKeys, TokenVerifier, verifyBundle } = await import('core');
const { keys, bundle, token, unbound, certificate, issuer, now } = await (await fetch('/world.json')).json();
const verified = await verifyBundle(bundle, { domain: 'catalog', keys: staticKeys(keys), now });
const policy = compileDomain('catalog', verified.policies);
using verifier = await TokenVerifier.open({ keys, issuers: [issuer], audiences: ['catalog'], clock: { now: () => now } });
const verify = async (token, certificate) => (await verifier.verify({ token, certificate })).kind;
const explained = explainInDomain(policy, ['reader'], 'write', 'catalog:movie');
await say({
  agent: navigator.userAgent,
  node: typeof process,
  version: verified.version,
  decided: ['read', 'write'].map((action) => decideInDomain(policy, ['reader'], action, 'catalog:movie').status),
  explained: [explained.status, explained.changes[0].kind],
  tokens: [await verify(token, certificate), await verify(token), await verify(unbound), await verify(token + 'x')],
});
</script>`;

const imports = JSON.stringify({
  imports: {
    zod: '/zod/index.js',
    yaml: '/yaml/index.js',
    '@signet/policy-engine/internal/nearest': '/engine/nearest.js',
    '@signet/policy-engine/internal/steps': '/engine/steps/steps.js',
    ...Object.fromEntries(
      ['clock', 'names', 'policy', 'wire'].map((entry) => [
        `@signet/policy-engine/${entry}`,
        entry === 'clock' ? '/engine/clock.js' : `/engine/${entry}/index.js`,
      ]),
    ),
  },
});

const playgroundPage = `<!doctype html><title>playground</title>
<script type="importmap">${imports}</script>
<script type="module">
const say = (value) => fetch('/result', { method: 'POST', body: JSON.stringify(value) });
addEventListener('error', ({ message }) => say({ error: message }));
addEventListener('unhandledrejection', ({ reason }) => say({ error: String(reason) }));
const { parseDomainDocument } = await import('/server/management/documents/parse-document.js');
const { parseCaseFile } = await import('/server/management/documents/case-file.js');
const { checkDocuments } = await import('/server/management/check-documents.js');
const { runCases } = await import('/server/management/run-cases.js');
const { impactInSteps } = await import('/server/impact/impact.js');
const { runAtOnce } = await import('/server/steps/steps.js');
const { documents, cases, now } = await (await fetch('/world.json')).json();
const nothing = { domains: new Map(), services: new Map(), switchedOff: { domains: [], services: [] } };
const parsed = documents.map((text) => parseDomainDocument('catalog.yaml', text, (pem) => pem));
const [was, is] = parsed.slice(0, 2).map(({ document }) => checkDocuments([document], nothing, now).snapshot);
const read = parseCaseFile('catalog.cases.yaml', cases);
const { changes } = runAtOnce(impactInSteps(was, is, now));
await say({
  agent: navigator.userAgent,
  node: typeof process,
  kinds: parsed.map(({ kind }) => kind),
  problem: parsed[2].problems[0].message,
  tests: [was, is].map((snapshot) => runCases(snapshot, [read.cases], now).failures.length),
  impact: changes.map(({ principal, change }) => [principal, change]),
});
</script>`;

/** A loopback server for page, modules and world; resolves `result` with what the page says. */
async function serve(
  t: ExecutionContext,
  page: string,
  world: unknown,
): Promise<{ base: string; result: Promise<unknown> }> {
  const { promise: result, resolve } = Promise.withResolvers<unknown>();
  const server = createServer(async (request, answer) => {
    const { url = '/' } = request;
    const root = roots.find(([prefix]) => url.startsWith(prefix));
    const file = root && join(root[1], url.slice(root[0].length));
    if (url === '/result') {
      resolve(JSON.parse(await text(request)));
      answer.end();
    } else if (url === '/world.json') {
      answer.setHeader('content-type', 'application/json').end(JSON.stringify(world));
    } else if (file !== undefined && existsSync(file)) {
      answer.setHeader('content-type', 'text/javascript').end(readFileSync(file));
    } else if (url === '/') {
      answer.setHeader('content-type', 'text/html').end(page);
    } else {
      answer.writeHead(404).end();
    }
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  return { base: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`, result };
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Text of the page in a browser. */
async function inChromium(t: ExecutionContext, page: string, world: unknown): Promise<unknown> {
  const { base, result } = await serve(t, page, world);
  // A group of its own, as the browser starts processes that must end with it.
  const child = spawn(browser, [...flags, `--user-data-dir=${temporaryFolder(t)}`, base], {
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    return await Promise.race([result, ended.then(() => 'the browser ended too early')]);
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
}

const inBrowser = existsSync(browser) ? test : test.skip;
inBrowser(`the core decides, explains and verifies in headless Chromium (needs ${browser})`, async (t) => {
  t.timeout(120_000);
  await promisify(execFile)(join(top, 'node_modules/.bin/tsc'), ['-b', join(top, 'policy-engine')]);
  const authority = await createTestAuthority();
  const { pem } = authority.certificate('media.player');
  const certificate = authority.certificate('media.player');
  t.not(pem, certificate.pem);
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  const holder = { domain: 'catalog', roles: ['reader'] };
  const said = await inChromium(t, corePage, {
    keys: authority.keys,
    bundle: JSON.stringify(
      await authority.bundle({ domain: 'catalog', version: 7, policies: [{ name: 'catalog:policy.p', assertions }] }),
    ),
    token: await authority.token({ ...holder, certificate }),
    unbound: await authority.token(holder),
    certificate: certificate.pem,
    issuer: authority.issuer,
    now: authority.clock.now(),
  });
  t.like(said, {
    node: 'undefined',
    version: 7,
    decided: ['ALLOW', 'DENY_NO_MATCH'],
    explained: ['DENY_NO_MATCH', 'add-assertion'],
    tokens: ['valid', 'not-held', 'not-held', 'invalid'],
  });
  t.regex(JSON.stringify(said), /HeadlessChrome/);
});

const document = (member: string) => `domain: catalog
roles:
  reader: { members: [${member}] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
`;

inBrowser(`documents, policy tests and impact in headless Chromium (needs ${browser})`, async (t) => {
  t.timeout(120_000);
  await promisify(execFile)(join(top, 'node_modules/.bin/tsc'), ['-b', join(top, 'server')]);
  const said = await inChromium(t, playgroundPage, {
    documents: [document('media.player'), document('media.studio'), 'domain: catalog\nroles: 5\n'],
    cases: '- { principal: media.player, action: read, resource: movie, expect: allow }\n',
    now: 1_767_225_600_000,
  });
  t.like(said, {
    node: 'undefined',
    kinds: ['ok', 'ok', 'bad'],
    tests: [0, 1],
    impact: [
      ['media.player', 'loss'],
      ['media.studio', 'gain'],
    ],
  });
});
