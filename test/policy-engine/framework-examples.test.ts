import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createTestAuthority, type TestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '#support/free-port';
import { until } from '#support/until';

/* The examples of docs/guides/frameworks.md are started as they stand, but for paths and ports, and asked. */

const place = fileURLToPath(new URL('../framework-examples', import.meta.url));
const guide = readFileSync(new URL('../../docs/guides/frameworks.md', import.meta.url), 'utf8');
const [beginning = '', ...chapters] = guide.split(/^## /m);

/** Packages for these examples alone (`npm run framework-examples`). */
const apart = createRequire(join(place, 'package.json'));

function block(text: string): readonly [language: string, code: string] {
  const [, language = '', code = ''] = /^```(js|ts)\n(.*?)^```/ms.exec(text) ?? [];
  return [language, code];
}

async function prepare(t: ExecutionContext) {
  const folder = mkdtempSync(join(place, 'run-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  await authority.writeBundle(join(folder, 'policy'), {
    domain: 'catalog',
    policies: [{ name: 'catalog:policy.p', assertions }],
  });
  const own = authority.certificate('catalog.api');
  writeFileSync(join(folder, 'service.cert.pem'), own.pem);
  writeFileSync(join(folder, 'service.key.pem'), own.key);
  writeFileSync(join(folder, 'ca.pem'), authority.ca.pem);
  const [, service] = block(beginning);
  writeFileSync(join(folder, 'service.js'), service.replace('/var/lib/signet/policy', join(folder, 'policy')));
  return { folder, authority };
}

async function start(t: ExecutionContext, folder: string, program: string): Promise<string> {
  const port = await freePort();
  writeFileSync(join(folder, 'app.js'), program.replace('8443', String(port)));
  const child = spawn(process.execPath, ['--conditions=@signet/source', 'app.js'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors += text;
  });
  t.teardown(() => child.kill('SIGKILL'));
  const url = `https://localhost:${port}/movie`;
  await until('it answers', async () => {
    if (child.exitCode !== null) throw new Error(errors);
    return await new Promise<boolean>((resolve) => {
      const asked = request(url, { agent: false, rejectUnauthorized: false }, (answer) => {
        answer.resume();
        resolve(true);
      });
      asked.once('error', () => resolve(false));
      asked.end();
    });
  });
  await until('the refusal of that is told', () => errors.includes('the caller must send its token'));
  return url;
}

async function ask(authority: TestAuthority, url: string, roles: readonly string[]) {
  const certificate = authority.certificate('media.player');
  const { pem: cert, key } = certificate;
  const token = await authority.token({ domain: 'catalog', roles: [...roles], certificate });
  const headers = { authorization: `Bearer ${token}` };
  const asked = request(url, { agent: false, ca: authority.ca.pem, headers, cert, key });
  asked.end();
  const { promise, resolve, reject } =
    Promise.withResolvers<readonly [number | undefined, unknown, string | undefined]>();
  asked.once('error', reject);
  asked.once('response', (answer) => {
    json(answer).then((body) => resolve([answer.statusCode, body, answer.headers['cache-control']]), reject);
  });
  return promise;
}

test('every chapter of the guide has an example', (t) => {
  t.true(chapters.length >= 6);
  for (const chapter of chapters) t.regex(block(chapter)[1], /engine/);
});

for (const chapter of chapters) {
  const [name = ''] = chapter.split('\n', 1);
  const [language, code] = block(chapter);
  const packages = [...code.matchAll(/from '((?:@nestjs\/|@hono\/|hono)[^']*)'/g)].map(([, found = '']) => found);
  const isInstalled = packages.every((found) => {
    try {
      return apart.resolve(found) !== '';
    } catch {
      return false;
    }
  });
  const run = isInstalled ? test : test.skip;
  if (!isInstalled)
    console.log(`${name}: skipped, its packages are not installed (npm run framework-examples -w test)`);
  run(`the example of the guide protects its route: ${name}`, async (t) => {
    const { folder, authority } = await prepare(t);
    const url = await start(t, folder, language === 'ts' ? transpile(code) : code);
    t.deepEqual(await ask(authority, url, ['reader']), [200, { title: 'Nosferatu', role: 'reader' }, 'no-store']);
    const [status, body] = await ask(authority, url, ['writer']);
    t.deepEqual([status, body], [403, { code: 403, message: 'access is not granted' }]);
  });
}

function transpile(code: string): string {
  const typescript = apart('typescript');
  const compilerOptions = {
    target: 'ES2022',
    module: 'ESNext',
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  return typescript.transpileModule(code, { compilerOptions }).outputText;
}
