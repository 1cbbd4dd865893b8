import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PolicyEngine, TokenVerifier } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/** Runs a program with the engine and the parameters; fails when it does not end by itself. */
async function run(program: string, parameters: unknown): Promise<string> {
  const code = `
    import { PolicyEngine, TokenVerifier } from '@signet/policy-engine';
    const p = ${JSON.stringify(parameters)};
    ${program}
    console.log('end');`;
  const args = ['--conditions=@signet/source', '--input-type=module', '--eval', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 300_000 });
  return stdout;
}

const programs: [note: string, program: string][] = [
  ['an engine over a directory', 'await PolicyEngine.open({ policyDir: p.dir });'],
  ['an engine over two directories', 'await PolicyEngine.open({ policyDir: [p.dir, p.dir] });'],
  ['an engine with a key file', 'await PolicyEngine.open({ policyDir: p.dir, keys: p.file, issuers: [p.issuer] });'],
  [
    'a verifier with a key file',
    "await TokenVerifier.open({ keys: p.file, issuers: [p.issuer], audiences: ['catalog'] });",
  ],
  [
    'a verifier with an address and own certificates',
    "await TokenVerifier.open({ keys: { url: p.url, tls: p.tls, timeoutMs: 25_000 }, issuers: [p.issuer], audiences: ['catalog'] });",
  ],
  ['an engine that is disposed', '{ using engine = await PolicyEngine.open({ policyDir: p.dir }); engine.health(); }'],
  [
    'an engine that is closed twice',
    'const e = await PolicyEngine.open({ policyDir: p.dir }); await e.close(); await e.close();',
  ],
];
for (const [note, program] of programs) {
  test(`the process ends by itself: ${note}`, async (t) => {
    const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
    const dir = temporaryFolder(t);
    await authority.writeBundle(dir, { domain: 'catalog', policies: [] });
    const file = join(temporaryFolder(t), 'jwks.json');
    writeFileSync(file, JSON.stringify(authority.keys));
    const { pem: cert, key } = authority.certificate('sys.auth.server');
    const server = createServer({ cert, key }, (_request, answer) => answer.end(JSON.stringify(authority.keys)));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `https://localhost:${typeof address === 'object' ? address?.port : 0}/keys`;
    const tls = { ca: authority.ca.pem };
    t.is(await run(program, { dir, file, url, tls, issuer: authority.issuer }), 'end\n');
  });
}

test('decisions go on after the end of `using` and of `await using`', async (t) => {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  await authority.writeBundle(policyDir, { domain: 'catalog', policies: [] });
  const kept: PolicyEngine[] = [];
  {
    using one = await PolicyEngine.open({ policyDir, clock: authority.clock });
    await using two = await PolicyEngine.open({ policyDir, clock: authority.clock });
    kept.push(one, two);
  }
  for (const engine of kept) {
    const { status } = engine.decideRoles({ domain: 'catalog', roles: ['r'], action: 'a', resource: 'x' });
    t.is(status, 'DENY_DOMAIN_EMPTY');
  }
  t.is(typeof TokenVerifier.prototype[Symbol.dispose], 'function');
});
