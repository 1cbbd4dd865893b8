import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { consoleIdentity } from '@signet/server/dev/identities';
import test, { type ExecutionContext } from 'ava';
import { askConsole } from '#support/console-host';
import { type DevWorld, repository, signetScript, startDevWorld } from '#support/dev-world';
import { blocksOf } from '#support/guide';
import { temporaryFolder } from '#support/temp';

/* The console of the sample system, and `signet console` as docs/guides/console.md describes it. */

let world: DevWorld;
test.before(async (t) => {
  t.timeout(120_000);
  world = await startDevWorld();
});
test.after.always(async () => await world?.remove());

const pageOf = async (address: string) => {
  const { origin, pathname, search } = new URL(address);
  return await askConsole(origin, `${pathname}${search}`);
};
/** The first page behind a link, and its address. */
async function openLink(link: string) {
  const { status, headers } = await pageOf(link);
  const home = new URL(headers.location ?? '', link).href;
  return { status, home, body: (await pageOf(home)).body };
}

/** Runs a command line of the shell that prints a link, and ends it when the test ends. */
async function runConsole(t: ExecutionContext, text: string) {
  const signet = `signet() { exec '${process.execPath}' '${signetScript}' "$@"; }\n`;
  const env = { ...process.env, SHLVL: '1', SIGNET_CONFIG: join(world.folder, 'signet.yaml') };
  const child = spawn('/bin/bash', ['-euc', signet + text], {
    cwd: repository,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'close') as Promise<[number | null]>;
  const lines: string[] = [];
  await new Promise<void>((printed) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.startsWith('Ctrl-C')) printed();
    });
    void ended.then(() => printed());
  });
  const link = lines.find((line) => line.startsWith('http://localhost:')) ?? '';
  return { child, ended, lines, link };
}

test('the link of the sample system leads to the console of an administrator, again and again', async (t) => {
  for (let times = 0; times < 2; times += 1) {
    const { status, body } = await openLink(world.state.consoleUrl);
    t.is(status, 303);
    t.true(body.includes(`What awaits <code>`), body);
    t.true(body.includes(`<a href="principal?name=${consoleIdentity}">`));
  }
  t.not(world.state.consolePid, world.state.serverPid);
});

const blocks = blocksOf(readFileSync(join(repository, 'docs/guides/console.md'), 'utf8'));
for (const [index, expected] of [/What awaits <code>/, /<h1><code>catalog<\/code><\/h1>/].entries()) {
  test(`command ${index + 1} of the guide prints a link that is valid once, and ends with Ctrl-C`, async (t) => {
    const { child, ended, lines, link } = await runConsole(t, `${blocks[index]?.text.trim()} --port 0`);
    t.regex(
      lines.join('\n'),
      /^Console of [\w.]+\. Open this link, once and within a minute:\nhttp:\/\/localhost:\d+\/open\/[\w-]{43}\nCtrl-C ends the console\.$/,
    );
    const { status, body } = await openLink(link);
    t.is(status, 303);
    t.regex(body, expected);
    t.is((await pageOf(link)).status, 404);
    child.kill('SIGINT');
    t.deepEqual(await ended, [0, null]);
  });
}

test('a request by its number is the first page', async (t) => {
  const { link } = await runConsole(t, `signet console 17 --as sys.auth.operator --port 0 --no-browser`);
  t.regex((await openLink(link)).home, /\/request\?id=17$/);
});

test('certificate files that were replaced are used from the next page on', async (t) => {
  const folder = temporaryFolder(t);
  const take = (name: string) => {
    const { cert = '', key = '' } = world.state.identities[name] ?? {};
    copyFileSync(cert, join(folder, 'cert.pem'));
    copyFileSync(key, join(folder, 'key.pem'));
  };
  take('media.guest');
  const files = `--cert ${folder}/cert.pem --key ${folder}/key.pem --ca ${world.state.caBundle} --url ${world.state.baseUrl}`;
  const { link } = await runConsole(t, `signet console ${files} --port 0 --no-browser`);
  const { home, body } = await openLink(link);
  t.true(body.includes('principal?name=media.guest'));
  t.is((await pageOf(`${home}domain?name=catalog`)).status, 403);
  take('sys.auth.operator');
  const after = await pageOf(`${home}domain?name=catalog`);
  t.is(after.status, 200);
  t.true(after.body.includes('principal?name=sys.auth.operator'));
});

test('a certificate that is revoked meanwhile', async (t) => {
  const folder = temporaryFolder(t);
  const issue = [
    'identity',
    'issue',
    'user.console',
    '--out',
    join(folder, 'jane'),
    '--as',
    'sys.auth.operator',
    '--data',
    world.folder,
  ];
  t.is((await world.signet(...issue)).status, 0);
  const { link } = await runConsole(t, `signet console --config ${folder}/jane/client.yaml --port 0 --no-browser`);
  const { home } = await openLink(link);
  const { body } = await pageOf(`${home}principal?name=user.console`);
  const [, serial = ''] = /certificate\?serial=([0-9a-f]+)/.exec(body) ?? [];
  const revoked = await askConsole(new URL(home).origin, `${new URL(home).pathname}revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    body: `serial=${serial}&reason=superseded`,
  });
  t.is(revoked.status, 303);
  const after = await pageOf(home);
  t.is(after.status, 401);
  t.regex(after.body, /Your certificate expired or was revoked[\s\S]+signet login/);
});

test('what one person asks for in its console another approves in its own, and the audit log names both', async (t) => {
  const post = async (home: string, action: string, fields: Readonly<Record<string, string>>) =>
    await askConsole(new URL(home).origin, `${new URL(home).pathname}${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams(fields).toString(),
    });
  const homeOf = async (who: string) => {
    const { link } = await runConsole(t, `signet console --as ${who} --data '${world.folder}' --port 0 --no-browser`);
    return (await openLink(link)).home;
  };
  const [ann, bob] = [await homeOf('user.ann'), await homeOf('user.bob')];
  const asked = await post(ann, 'request-role', {
    role: 'catalog:role.publisher',
    seconds: '3600',
    reason: 'ticket 4711',
  });
  t.is(asked.status, 303, asked.body);
  const [, id = ''] = /request\?id=(\d+)/.exec(asked.headers.location ?? '') ?? [];
  t.regex((await pageOf(bob)).body, new RegExp(`request\\?id=${id}"`));
  const page = (await pageOf(`${bob}request?id=${id}`)).body;
  t.regex(page, /▲ gains[\s\S]+user\.ann[\s\S]+write[\s\S]+catalog:series/);
  const [, plan = ''] = /name="plan" value="([\w-]{43})"/.exec(page) ?? [];
  t.is((await post(bob, 'approve', { id, plan })).status, 303);
  t.regex((await pageOf(`${ann}request?id=${id}`)).body, /applied/);
  const log = await world.signet(
    'audit',
    'list',
    '--subject',
    `request.${id}`,
    '--json',
    '--config',
    join(world.folder, 'signet.yaml'),
  );
  t.regex(log.stdout, /"action": ?"approve"/, log.stderr);
  t.regex(log.stdout, /"actor": ?"user\.bob"/);
  t.regex(log.stdout, /"actor": ?"user\.ann"/);
});

test('mistakes end with what is allowed', async (t) => {
  const as = ['--as', 'sys.auth.operator', '--data', world.folder, '--no-browser'];
  const taken = createServer();
  await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
  t.teardown(() => taken.close());
  const address = taken.address();
  const port = String(typeof address === 'object' ? address?.port : 0);
  const inUse = await world.signet('console', ...as, '--port', port);
  t.is(inUse.status, 2);
  t.is(inUse.stderr, `signet: --port: ${port} is in use: select another one, or 0 for a free one\n`);
  const unknown = await world.signet('console', 'hosts', ...as);
  t.is(unknown.status, 2);
  t.regex(unknown.stderr, /^signet: unknown page `hosts`; known: domains, domain, role, policy, why, /);
  const wrongPort = await world.signet('console', ...as, '--port', '70000');
  t.is(wrongPort.status, 2);
  t.regex(wrongPort.stderr, /must be a port from 0 to 65535/);
  const nobody = await world.signet('console', '--no-browser', '--config', join(world.folder, 'signet.yaml'));
  t.is(nobody.status, 2);
});
